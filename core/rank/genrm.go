package rank

import (
	"context"
	"fmt"

	"github.com/rankbuffer/rankbuffer/core/judge/verdict"
	"github.com/rankbuffer/rankbuffer/core/prompt"
)

// GenRM is the point-wise generative reward model (RRC, equation 41): the reward
// is the probability of the positive label, Yes against No, at the judge's
// answer token. The scale is absolute, so validation groups and single responses
// are scored the same way. The endpoint must give token log-probabilities.
//
// Rewards lie in [0, 1]. One round; one call a distinct response.
type GenRM struct{ Common }

func newGenRM() Method { return &GenRM{common("genrm", 1)} }

// Rank implements Method.
func (m *GenRM) Rank(ctx context.Context, g *Group) (Outcome, error) {
	probability, err := evaluate(ctx, g, func(ctx context.Context, c *Candidate) (float64, error) {
		p, err := askProbability(ctx, g, prompt.Label, prompt.Vars{Candidates: []string{c.Text}}, nil, verdict.Label)
		if err != nil {
			return 0, fmt.Errorf("genrm: label: %w", err)
		}
		return p, nil
	})
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{Rewards: g.Spread(func(c *Candidate) float64 { return probability[c] }, 0)}, nil
}
