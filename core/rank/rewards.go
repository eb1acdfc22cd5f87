package rank

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/rankbuffer/rankbuffer/core/reward"
)

// Tier is a set of candidates the ranking does not tell apart.
type Tier []*Candidate

// Tiers puts each candidate of an order, worst first, into a tier of its own.
func Tiers(order []*Candidate) []Tier {
	tiers := make([]Tier, len(order))
	for i, c := range order {
		tiers[i] = Tier{c}
	}
	return tiers
}

// TiersOf orders candidates by value, smallest first; equal ones share a tier.
func TiersOf(values map[*Candidate]float64) []Tier {
	var tiers []Tier
	last := math.NaN()
	for _, c := range slices.SortedFunc(maps.Keys(values), func(a, b *Candidate) int { return cmp.Compare(values[a], values[b]) }) {
		if values[c] != last {
			tiers, last = append(tiers, nil), values[c]
		}
		tiers[len(tiers)-1] = append(tiers[len(tiers)-1], c)
	}
	return tiers
}

// Spread gives every response the value of its candidate, empty and ineligible
// ones the value for empty. value is not called for a candidate that failed. Call
// it once all responses have arrived.
func (g *Group) Spread(value func(*Candidate) float64, empty float64) []float64 {
	out := make([]float64, len(g.slots))
	for i, s := range g.slots {
		switch {
		case s.cand != nil && !g.Failed(s.cand):
			out[i] = value(s.cand)
		case s.unjudged():
			out[i] = empty
		}
	}
	return out
}

// LinearRewards maps an order of candidates, worst tier first, onto [-1, 1] over
// all responses that can be ranked: m empty ones take the m lowest ranks and are
// each rewarded as rank 0, identical ones and members of a tier share their
// average rank, failed ones are left out.
func (g *Group) LinearRewards(tiers []Tier) []float64 {
	return g.RankRewards(tiers, reward.Linear, -1)
}

// RankRewards does the same with any reward of rank q among n responses; empty
// is that of the lowest rank.
func (g *Group) RankRewards(tiers []Tier, of func(q float64, n int) float64, empty float64) []float64 {
	ranks, n := map[*Candidate]float64{}, float64(g.CountEmpty())
	for _, tier := range tiers {
		judged := slices.DeleteFunc(slices.Clone(tier), g.Failed)
		size := 0.0
		for _, c := range judged {
			size += c.Size()
		}
		for _, c := range judged {
			ranks[c] = n + (size-1)/2
		}
		n += size
	}
	return g.Spread(func(c *Candidate) float64 { return of(ranks[c], int(n)) }, empty)
}

// Judged lists the responses that have or will have a reward of their own: all
// but the failed ones.
func (g *Group) Judged() []int {
	var out []int
	for i, s := range g.slots {
		if !s.status.Failed() && (s.cand == nil || !g.Failed(s.cand)) {
			out = append(out, i)
		}
	}
	return out
}

// CountEmpty counts the responses that never reach the judge.
func (g *Group) CountEmpty() int {
	n := 0
	for _, s := range g.slots {
		if s.unjudged() {
			n++
		}
	}
	return n
}
