package methods

import (
	"context"

	"github.com/rankbuffer/rankbuffer/core/rank"
	"github.com/rankbuffer/rankbuffer/core/rank/calls"
)

// Explicit scores each response on one rubric at a time, z_k of 0 to 10, and
// rewards the weighted mean sum(w_k z_k) / sum(w_k) (Tournament-GRPO, explicit
// scoring). The paper leaves it on 0 to 10, where it outweighs the format reward
// tenfold; here it is divided by 10 unless Scale is 10. The scale is absolute,
// so validation groups and single responses are scored the same way.
//
// Rewards lie in [0, Scale]. One round; one call a rubric for each distinct
// response.
type Explicit struct{ Scaled }

func newExplicit() rank.Method { return &Explicit{Scaled{rank.Defaults("explicit", 1), 1}} }

// Check implements rank.Method.
func (m *Explicit) Check(s rank.Spec) error { return calls.NeedRubrics("explicit", s.Query) }

// Rank implements rank.Method.
func (m *Explicit) Rank(ctx context.Context, g *rank.Group) (rank.Outcome, error) {
	scores, err := calls.RubricScores(ctx, g)
	if err != nil {
		return rank.Outcome{}, err
	}
	return rank.Outcome{Rewards: g.Spread(func(c *rank.Candidate) float64 {
		return m.reward(calls.WeightedMean(g.Query.Rubrics, scores[c]))
	}, 0)}, nil
}
