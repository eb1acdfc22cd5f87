package rank

import (
	"context"
	"errors"
	"fmt"

	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/verdict"
	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/query"
)

// ErrNoRanked is returned when rubrics are to be written for a query without
// ranked responses.
var ErrNoRanked = errors.New("rubrics are written from responses already ranked for the query, best first, and there are none")

// How rubrics are written (RankBuffer, Appendix D).
const (
	rubricTemperature = 0.2
	rubricMaxTokens   = 1024
)

// GenerateRubrics has an LLM write 3 to 5 rubrics for a query from its ranked
// responses, with whole weights of 1 to 5 (RankBuffer, Appendix D). An answer
// that breaks these rules is asked for once more. They are meant to be written
// once and then kept.
func GenerateRubrics(ctx context.Context, env Env, q query.Query) ([]query.Rubric, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	if len(q.Ranked) == 0 {
		return nil, fmt.Errorf("ranked: query %q: %w", q.ID, ErrNoRanked)
	}
	messages, err := env.Templates.Render(prompt.Rubrics, prompt.Vars{Query: q.Prompt, Ranked: q.Ranked})
	if err != nil {
		return nil, err
	}
	temperature := rubricTemperature
	rubrics, err := judge.Ask(ctx, env.Judge, judge.Request{
		Kind: prompt.Rubrics, Messages: messages, Temperature: &temperature, MaxTokens: rubricMaxTokens,
	}, func(r judge.Reply) ([]query.Rubric, error) { return verdict.Rubrics(r.Text) })
	if err != nil {
		return nil, fmt.Errorf("rank: rubrics for query %q: %w", q.ID, err)
	}
	return rubrics, nil
}
