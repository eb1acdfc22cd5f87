package calls

import (
	"context"
	"slices"

	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/verdict"
	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/rank"
)

// Order asks for the order of the candidates in one call and returns them worst
// first. shape may set the request's seed.
func Order(ctx context.Context, g *rank.Group, shown []*rank.Candidate, shape func(*judge.Request)) ([]*rank.Candidate, error) {
	order, err := rank.Ask(ctx, g, prompt.Fine, prompt.Vars{Candidates: rank.Texts(shown)}, shape,
		func(r judge.Reply) ([]int, error) { return verdict.Order(r.Text, len(shown)) })
	if err != nil {
		return nil, err
	}
	g.FirstWon(float64(slices.Index(order, 0)), len(shown)-1)
	return rank.Pick(shown, order), nil
}
