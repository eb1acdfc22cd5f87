package methods

import (
	"cmp"
	"context"
	"fmt"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/rank"
	"github.com/rankbuffer/rankbuffer/core/rank/calls"
)

// Listwise has one call order the whole group, worst to best, and rewards the
// rank linearly, -1 + 2q/(n-1), in the manner of RULER. Repeats ask again with
// the responses shown in other orders, all at once, and average the orders by
// Borda count: a response's points are its ranks added up, and equal points share
// the average rank. A failed call neutralises the group.
//
// Rewards lie in [-1, 1]. One round; as many calls as repeats.
type Listwise struct {
	rank.Options
	Repeats int `json:"repeats"`
}

func newListwise() rank.Method { return &Listwise{Options: rank.Defaults("listwise", 0.2), Repeats: 1} }

// Validate implements rank.Method.
func (m *Listwise) Validate() error {
	return cmp.Or(fault.Within("repeats", m.Repeats, 1, rank.MaxRepeats), m.Options.Validate())
}

// Rank implements rank.Method.
func (m *Listwise) Rank(ctx context.Context, g *rank.Group) (rank.Outcome, error) {
	if g.Validate || g.Size == 1 {
		return g.Unranked(ctx, -1)
	}
	cs, err := g.All(ctx)
	if err != nil {
		return rank.Outcome{}, err
	}
	if len(cs) < 2 {
		return rank.Outcome{Rewards: g.LinearRewards([]rank.Tier{cs})}, nil
	}
	orders, errs := make([][]*rank.Candidate, m.Repeats), make([]error, m.Repeats)
	g.Together(m.Repeats, func(r int) {
		shown := g.Present(cs, fmt.Sprintf("listwise/%d", r))
		orders[r], errs[r] = calls.Order(ctx, g, shown, g.Repeat(r, m.Repeats))
	})
	if cmp.Or(errs...) != nil {
		return g.Neutralised(cs, -1, errs...), nil
	}
	return rank.Outcome{Rewards: g.LinearRewards(rank.TiersOf(borda(orders)))}, nil
}

// borda adds up each candidate's 0-based ranks, worst 0, over several orders.
func borda(orders [][]*rank.Candidate) map[*rank.Candidate]float64 {
	points := map[*rank.Candidate]float64{}
	for _, order := range orders {
		for q, c := range order {
			points[c] += float64(q)
		}
	}
	return points
}
