package methods

import (
	"context"

	"github.com/rankbuffer/rankbuffer/core/rank"
	"github.com/rankbuffer/rankbuffer/core/rank/calls"
)

// Implicit scores each response alone, one score z of 0 to 10 by all rubrics
// together, and rewards z/10, or z where Scale is 10 (Tournament-GRPO, implicit
// scoring). The scale is absolute, so validation groups and single responses are
// scored the same way.
//
// Rewards lie in [0, Scale]. One round; one call a distinct response.
type Implicit struct{ Scaled }

func newImplicit() rank.Method { return &Implicit{Scaled{rank.Defaults("implicit", 1), 1}} }

// Rank implements rank.Method.
func (m *Implicit) Rank(ctx context.Context, g *rank.Group) (rank.Outcome, error) {
	scores, err := calls.Scores(ctx, g)
	if err != nil {
		return rank.Outcome{}, err
	}
	return rank.Outcome{Rewards: g.Spread(func(c *rank.Candidate) float64 { return m.reward(scores[c]) }, 0)}, nil
}
