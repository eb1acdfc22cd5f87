package methods

import (
	"context"

	"github.com/rankbuffer/rankbuffer/core/rank"
	"github.com/rankbuffer/rankbuffer/core/rank/calls"
)

// Pointwise scores each response alone, 0 to 10 against the weighted rubrics,
// and rewards 2s/10 - 1 (RankBuffer, Appendix E). One round, one call a
// response; a single response or a validation group is scored the same way.
type Pointwise struct {
	rank.Options
	// RankTransform replaces scores by their average rank in the group: what
	// ranking gives for free, without comparing.
	RankTransform bool `json:"rank_transform"`
}

func newPointwise() rank.Method { return &Pointwise{Options: rank.Defaults("pointwise", 0.2)} }

// Rank implements rank.Method.
func (m *Pointwise) Rank(ctx context.Context, g *rank.Group) (rank.Outcome, error) {
	scores, err := calls.Scores(ctx, g)
	if err != nil {
		return rank.Outcome{}, err
	}
	if m.RankTransform && g.Size > 1 && !g.Validate {
		return rank.Outcome{Rewards: g.LinearRewards(rank.TiersOf(scores))}, nil
	}
	value := func(c *rank.Candidate) float64 { return 2*scores[c]/10 - 1 }
	return rank.Outcome{Rewards: g.Spread(value, -1)}, nil
}
