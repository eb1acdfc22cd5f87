package rank

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/ledger"
	"github.com/rankbuffer/rankbuffer/core/prompt"
)

// Env is what a group needs from the outside.
type Env struct {
	Judge     judge.Judge
	Templates *prompt.Templates
	LogProbs  *LogProbs // one per judge; nil asks without finding out first
	Centred   bool      // advantages are not divided by the std (Dr. GRPO)
}

// asker renders a group's questions and accounts for its calls.
type asker struct {
	env      Env
	affinity uint64
	tally    *ledger.Ledger
	first    firstShare
}

func newAsker(s Spec, env Env) asker {
	h := fnv.New64a()
	h.Write([]byte(s.Query.ID))
	return asker{env: env, affinity: h.Sum64(), tally: new(ledger.Ledger)}
}

// ask renders one question, sends it and parses the answer. Query and rubrics
// are filled in unless the caller set them; shape may set the request's seed or
// ask for log-probabilities, nil leaves the defaults.
func ask[T any](ctx context.Context, g *Group, kind prompt.Kind, v prompt.Vars,
	shape func(*judge.Request), parse func(judge.Reply) (T, error)) (T, error) {
	v.Query = g.Query.Prompt
	if v.Rubrics == nil {
		v.Rubrics = g.Query.WithRubrics()
	}
	messages, err := g.asker.env.Templates.Render(kind, v)
	if err != nil {
		var zero T
		return zero, err
	}
	req := judge.Request{Kind: kind, Messages: messages, Affinity: g.asker.affinity, Ledger: g.asker.tally}
	if shape != nil {
		shape(&req)
	}
	answer, err := judge.Ask(ctx, g.asker.env.Judge, req, parse)
	if err != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		err = &judge.Error{Failure: judge.TimedOut, Err: fmt.Errorf("the group's time ran out (deadline_ms, judge.group_timeout_s): %w", err)}
	}
	return answer, err
}
