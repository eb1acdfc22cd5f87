package reward

import "strings"

// Reasoning names the tags around the policy's reasoning. The zero value turns
// stripping off.
type Reasoning struct {
	Open  string `json:"open"`
	Close string `json:"close"`
}

// DefaultReasoning is what most reasoning models write.
var DefaultReasoning = Reasoning{Open: "<think>", Close: "</think>"}

// Answer is what a judge may see of a response: the text after the last closed
// reasoning block. An unclosed block means there is no answer: "". A closing
// tag alone counts, since chat templates often write the opening one.
func (r Reasoning) Answer(response string) string {
	if r.Close == "" {
		return response
	}
	answer := response
	if strings.Contains(response, r.Close) { // many times faster at finding nothing than LastIndex
		i := strings.LastIndex(response, r.Close)
		answer = strings.TrimLeft(response[i+len(r.Close):], " \t\r\n")
	}
	if r.Open != "" && strings.Contains(answer, r.Open) {
		return ""
	}
	return answer
}
