// Package calls holds the calls that several reward methods make and what they
// do with the answers: votes on pairs and the standings of a round robin, scores,
// the order of a list, the probability of a label.
package calls
