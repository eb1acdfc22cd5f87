package rank

import (
	"context"

	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/prompt"
)

// listwise asks for the candidates' order in one call and returns them worst
// first. shape may set the request's seed.
func listwise(ctx context.Context, g *Group, shown []*Candidate, shape func(*judge.Request)) ([]*Candidate, error) {
	order, err := ask(ctx, g, prompt.Fine, prompt.Vars{Candidates: texts(shown)}, shape,
		func(r judge.Reply) ([]int, error) { return judge.ParseOrder(r.Text, len(shown)) })
	if err != nil {
		return nil, err
	}
	return pick(shown, order), nil
}
