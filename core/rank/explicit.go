package rank

import (
	"context"
	"fmt"
)

// Explicit scores each response on one rubric at a time, z_k of 0 to 10, and
// rewards the weighted mean sum(w_k z_k) / sum(w_k) (Tournament-GRPO, explicit
// scoring). The paper leaves it on 0 to 10, where it outweighs the format reward
// tenfold; here it is divided by 10 unless Scale is 10. The scale is absolute,
// so validation groups and single responses are scored the same way.
//
// Rewards lie in [0, Scale]. One round; one call a rubric for each distinct
// response.
type Explicit struct {
	Common
	Scale scale `json:"scale"`
}

// scale is the reward of a perfect response, 1 or 10.
type scale int

func (s scale) validate() error {
	if s != 1 && s != 10 {
		return fmt.Errorf("scale: %d is neither 1 (rewards of 0 to 1) nor 10 (0 to 10)", s)
	}
	return nil
}

// of puts a score of 0 to 10 on the scale.
func (s scale) of(score float64) float64 {
	if s == 1 {
		return score / 10
	}
	return score
}

func newExplicit() Method { return &Explicit{Common: common("explicit", 1), Scale: 1} }

func (m *Explicit) validate() error {
	if err := m.Scale.validate(); err != nil {
		return err
	}
	return m.Common.validate()
}

// Check implements Method.
func (m *Explicit) Check(s Spec) error { return needRubrics("explicit", s.Query) }

// Rank implements Method.
func (m *Explicit) Rank(ctx context.Context, g *Group) (Outcome, error) {
	scores, err := evaluate(ctx, g, rubricScores(g, "explicit"))
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{Rewards: g.Spread(func(c *Candidate) float64 {
		if scores[c] == nil { // failed
			return 0
		}
		return m.Scale.of(weightedMean(g.Query.Rubrics, scores[c]))
	}, 0)}, nil
}
