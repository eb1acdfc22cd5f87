package rank

import (
	"context"
	"slices"

	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/verdict"
	"github.com/rankbuffer/rankbuffer/core/prompt"
)

// listwise asks for the candidates' order in one call and returns them worst
// first. shape may set the request's seed.
func listwise(ctx context.Context, g *Group, shown []*Candidate, shape func(*judge.Request)) ([]*Candidate, error) {
	order, err := ask(ctx, g, prompt.Fine, prompt.Vars{Candidates: texts(shown)}, shape,
		func(r judge.Reply) ([]int, error) { return verdict.Order(r.Text, len(shown)) })
	if err != nil {
		return nil, err
	}
	others := len(shown) - 1
	g.firstWon(float64(slices.Index(order, 0)), others)
	return pick(shown, order), nil
}
