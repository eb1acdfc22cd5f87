package rank

import (
	"context"

	"github.com/rankbuffer/rankbuffer/core/reward"
)

// Tier is a set of candidates the ranking does not tell apart.
type Tier []*Candidate

// Spread gives every response the value of its candidate, and empty and
// ineligible ones the value for empty. Call it once all responses have arrived.
func (g *Group) Spread(value func(*Candidate) float64, empty float64) []float64 {
	out := make([]float64, len(g.slots))
	for i, s := range g.slots {
		switch {
		case s.cand != nil:
			out[i] = value(s.cand)
		case s.status == Empty || s.status == Ineligible:
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
	return g.rankRewards(tiers, reward.Linear, -1)
}

// rankRewards does the same with any reward of rank q among n responses; empty
// is that of the lowest rank.
func (g *Group) rankRewards(tiers []Tier, of func(q float64, n int) float64, empty float64) []float64 {
	empties, n := g.countEmpty(), 0
	members := make([][]int, len(tiers))
	for t, tier := range tiers {
		for _, c := range tier {
			if !g.Failed(c) {
				members[t] = append(members[t], c.members...)
			}
		}
		n += len(members[t])
	}
	ranks := reward.TierRanks(members, empties)
	out := make([]float64, len(g.slots))
	for i, s := range g.slots {
		if rank, ok := ranks[i]; ok {
			out[i] = of(rank, n+empties)
		} else if s.status == Empty || s.status == Ineligible {
			out[i] = empty
		}
	}
	return out
}

// judged lists the responses that have or will have a reward of their own: all
// but the failed ones.
func (g *Group) judged() []int {
	var out []int
	for i, s := range g.slots {
		if !s.status.Failed() && (s.cand == nil || !g.Failed(s.cand)) {
			out = append(out, i)
		}
	}
	return out
}

// unranked is the outcome of a method that only compares, where there is nothing
// to compare with: in validation and for a single response. Everything is worth
// 0, empty responses the lowest reward of the method.
func unranked(ctx context.Context, g *Group, empty float64) (Outcome, error) {
	if _, err := g.All(ctx); err != nil {
		return Outcome{}, err
	}
	if g.Validate {
		return unjudged(g, empty, "the method only compares the responses of a group, which validation does not"), nil
	}
	return unjudged(g, empty, "the method only compares the responses of a group, and this one has a single response"), nil
}

// unjudged is the outcome of a group that nothing is asked about. It says so:
// rewards of 0 with the status ok look like a judge that found all equal.
func unjudged(g *Group, empty float64, why string) Outcome {
	g.Remark("unjudged", why+": rewards are 0")
	return Outcome{Rewards: g.Spread(func(*Candidate) float64 { return 0 }, empty)}
}

// neutralised is the outcome of a group in which calls failed on which every
// reward depends.
func neutralised(g *Group, cs []*Candidate, empty float64, failures ...error) Outcome {
	for _, err := range failures {
		g.Fail(err, cs...)
	}
	return Outcome{Rewards: g.Spread(func(*Candidate) float64 { return 0 }, empty)}
}

// refused is the outcome of a group that cannot be judged at all. It waits for
// the responses, which the caller is still to hand in.
func refused(ctx context.Context, g *Group, err error) (Outcome, error) {
	cs, ended := g.All(ctx)
	if ended != nil {
		return Outcome{}, ended
	}
	return neutralised(g, cs, 0, err), nil
}

// countEmpty counts the responses that never reach the judge.
func (g *Group) countEmpty() int {
	n := 0
	for _, s := range g.slots {
		if s.status == Empty || s.status == Ineligible {
			n++
		}
	}
	return n
}
