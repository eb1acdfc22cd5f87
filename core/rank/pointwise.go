package rank

import (
	"context"

	"github.com/rankbuffer/rankbuffer/core/reward"
)

// Pointwise scores each response alone, 0 to 10 against the weighted rubrics,
// and rewards 2s/10 - 1 (RankBuffer, Appendix E). One round, one call a
// response; a single response or a validation group is scored the same way.
type Pointwise struct {
	Common
	// RankTransform replaces scores by their average rank in the group: what
	// ranking gives for free, without comparing.
	RankTransform bool `json:"rank_transform"`
}

func newPointwise() Method { return &Pointwise{Common: common("pointwise", 0.2)} }

// Rank implements Method.
func (m *Pointwise) Rank(ctx context.Context, g *Group) (Outcome, error) {
	scores, err := evaluate(ctx, g, overallScore(g, "pointwise"))
	if err != nil {
		return Outcome{}, err
	}
	if m.RankTransform && g.Size > 1 && !g.Validate {
		return Outcome{Rewards: g.LinearRewards(tiersOf(scores))}, nil
	}
	value := func(c *Candidate) float64 { return 2*scores[c]/10 - 1 }
	return Outcome{Rewards: g.Spread(value, -1)}, nil
}

// tiersOf groups candidates of equal value, smallest first.
func tiersOf(values map[*Candidate]float64) []Tier {
	cs := make([]*Candidate, 0, len(values))
	vs := make([]float64, 0, len(values))
	for c, v := range values {
		cs, vs = append(cs, c), append(vs, v)
	}
	byRank := map[float64]Tier{}
	ranks := reward.Ranks(vs)
	for i, r := range ranks {
		byRank[r] = append(byRank[r], cs[i])
	}
	var tiers []Tier
	for r := 0.0; r < float64(len(cs)); r += 0.5 { // average ranks are multiples of one half
		if tier := byRank[r]; tier != nil {
			tiers = append(tiers, tier)
		}
	}
	return tiers
}
