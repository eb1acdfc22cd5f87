package calls

import (
	"context"

	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/rank"
)

// The number of alternatives asked for at each answer token. OpenAI and vLLM
// allow 20 at most; after written reasoning, where every token carries them,
// fewer keep the answer small, and both labels are among the likeliest anyway.
const (
	alternatives         = 20
	alternativesReasoned = 5
)

// AskProbability asks a question whose answer is read from the
// log-probabilities of its tokens.
func AskProbability(ctx context.Context, g *rank.Group, kind prompt.Kind, v prompt.Vars,
	shape func(*judge.Request), parse func(judge.Reply) (float64, error)) (float64, error) {
	return rank.Ask(ctx, g, kind, v, func(r *judge.Request) {
		if r.TopLogProbs = alternatives; kind == prompt.Reasoned {
			r.TopLogProbs = alternativesReasoned
		}
		if shape != nil {
			shape(r)
		}
	}, parse)
}

// Probability is a ballot by the probability that the judge names A.
func Probability(kind prompt.Kind, parse func(judge.Reply) (float64, error)) Ballot {
	return func(ctx context.Context, g *rank.Group, a, b *rank.Candidate, shape func(*judge.Request)) (float64, error) {
		return AskProbability(ctx, g, kind, prompt.Vars{Candidates: []string{a.Text, b.Text}}, shape, parse)
	}
}
