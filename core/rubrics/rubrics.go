// Package rubrics has a judge write the rubrics of a query.
package rubrics

import (
	"context"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/verdict"
	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/query"
)

// How rubrics are written (RankBuffer, Appendix D).
const (
	temperature = 0.2
	maxTokens   = 1024
)

// Write has the judge write 3 to 5 rubrics for a query from its ranked responses,
// with whole weights of 1 to 5 (RankBuffer, Appendix D). An answer that breaks
// these rules is asked for once more. Rubrics are meant to be written once and
// then kept.
func Write(ctx context.Context, j judge.Judge, templates *prompt.Templates, q query.Query) ([]query.Rubric, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	if len(q.Ranked) == 0 {
		return nil, fault.New(fault.MissingField, "ranked",
			"rubrics are written from ranked responses, best first, and query %q has none", q.ID)
	}
	messages, err := templates.Render(prompt.Rubrics, prompt.Vars{Query: q.Prompt, Ranked: q.Ranked})
	if err != nil {
		return nil, err
	}
	warmth := temperature
	return judge.Ask(ctx, j, judge.Request{
		Kind: prompt.Rubrics, Messages: messages, Temperature: &warmth, MaxTokens: maxTokens,
	}, func(r judge.Reply) ([]query.Rubric, error) { return verdict.Rubrics(r.Text) })
}
