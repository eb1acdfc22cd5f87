package rank

import (
	"context"
	"fmt"
)

// Listwise has one call order the whole group, worst to best, and rewards the
// rank linearly, -1 + 2q/(n-1), in the manner of RULER. Repeats ask again with
// the responses shown in other orders, all at once, and average the orders by
// Borda count: a response's points are its ranks added up, and equal points share
// the average rank. A failed call neutralises the group.
//
// Rewards lie in [-1, 1]. One round; as many calls as repeats.
type Listwise struct {
	Common
	Repeats int `json:"repeats"`
}

func newListwise() Method { return &Listwise{Common: common("listwise", 0.2), Repeats: 1} }

func (m *Listwise) validate() error {
	if m.Repeats < 1 || m.Repeats > maxRepeats {
		return fmt.Errorf("repeats: %d is not within 1..%d", m.Repeats, maxRepeats)
	}
	return m.Common.validate()
}

// Rank implements Method.
func (m *Listwise) Rank(ctx context.Context, g *Group) (Outcome, error) {
	if g.Validate || g.Size == 1 {
		return unranked(ctx, g, -1)
	}
	cs, err := g.All(ctx)
	if err != nil {
		return Outcome{}, err
	}
	if len(cs) < 2 {
		return Outcome{Rewards: g.LinearRewards([]Tier{cs})}, nil
	}
	orders, errs := make([][]*Candidate, m.Repeats), make([]error, m.Repeats)
	g.Together(m.Repeats, func(r int) {
		shown := g.Present(cs, fmt.Sprintf("listwise/%d", r))
		orders[r], errs[r] = listwise(ctx, g, shown, oneOf(g, r, m.Repeats))
	})
	if failures := failuresOf(errs, "listwise: order"); len(failures) > 0 {
		return neutralised(g, cs, -1, failures...), nil
	}
	return Outcome{Rewards: g.LinearRewards(tiersOf(borda(orders)))}, nil
}

// borda adds up each candidate's 0-based ranks, worst 0, over several orders.
func borda(orders [][]*Candidate) map[*Candidate]float64 {
	points := map[*Candidate]float64{}
	for _, order := range orders {
		for q, c := range order {
			points[c] += float64(q)
		}
	}
	return points
}
