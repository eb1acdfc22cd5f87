package rank

import "context"

// Implicit scores each response alone, one score z of 0 to 10 by all rubrics
// together, and rewards z/10, or z where Scale is 10 (Tournament-GRPO, implicit
// scoring). The scale is absolute, so validation groups and single responses are
// scored the same way.
//
// Rewards lie in [0, Scale]. One round; one call a distinct response.
type Implicit struct {
	Common
	Scale scale `json:"scale"`
}

func newImplicit() Method { return &Implicit{Common: common("implicit", 1), Scale: 1} }

func (m *Implicit) validate() error {
	if err := m.Scale.validate(); err != nil {
		return err
	}
	return m.Common.validate()
}

// Rank implements Method.
func (m *Implicit) Rank(ctx context.Context, g *Group) (Outcome, error) {
	scores, err := evaluate(ctx, g, overallScore(g, "implicit"))
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{Rewards: g.Spread(func(c *Candidate) float64 { return m.Scale.of(scores[c]) }, 0)}, nil
}
