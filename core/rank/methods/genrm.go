package methods

import (
	"context"

	"github.com/rankbuffer/rankbuffer/core/judge/verdict"
	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/rank"
	"github.com/rankbuffer/rankbuffer/core/rank/calls"
)

// GenRM is the point-wise generative reward model (RRC, equation 41): the reward
// is the probability of the positive label, Yes against No, at the judge's
// answer token. The scale is absolute, so validation groups and single responses
// are scored the same way. The endpoint must give token log-probabilities.
//
// Rewards lie in [0, 1]. One round; one call a distinct response.
type GenRM struct{ rank.Options }

func newGenRM() rank.Method { return &GenRM{rank.Defaults("genrm", 1)} }

// Rank implements rank.Method.
func (m *GenRM) Rank(ctx context.Context, g *rank.Group) (rank.Outcome, error) {
	probability, err := calls.Evaluate(ctx, g, func(ctx context.Context, c *rank.Candidate) (float64, error) {
		return calls.AskProbability(ctx, g, prompt.Label, prompt.Vars{Candidates: []string{c.Text}}, nil, verdict.Label)
	})
	if err != nil {
		return rank.Outcome{}, err
	}
	return rank.Outcome{Rewards: g.Spread(func(c *rank.Candidate) float64 { return probability[c] }, 0)}, nil
}
