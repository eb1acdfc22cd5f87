package rank

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/query"
)

// Env is what a group needs from the outside.
type Env struct {
	Judge     judge.Judge
	Templates *prompt.Templates // nil: those that ship
	LogProbs  *LogProbs         // one per judge; nil asks without finding out first
	Centred   bool              // advantages are not divided by the std (Dr. GRPO)
}

// affinityOf is equal for the requests of one query, which share a long prefix.
func affinityOf(q query.Query) uint64 {
	h := fnv.New64a()
	h.Write([]byte(q.ID))
	return h.Sum64()
}

// Ask renders one question, sends it and parses the answer. The query is filled
// in, and its rubrics unless v has some; shape may set the request's seed or ask
// for log-probabilities, nil leaves the defaults. The error names the kind of
// call.
func Ask[T any](ctx context.Context, g *Group, kind prompt.Kind, v prompt.Vars,
	shape func(*judge.Request), parse func(judge.Reply) (T, error)) (T, error) {
	v.Query = g.Query.Prompt
	if v.Rubrics == nil {
		v.Rubrics = g.Query.WithRubrics()
	}
	messages, err := g.env.Templates.Render(kind, v)
	if err != nil {
		var zero T
		return zero, err
	}
	req := judge.Request{Kind: kind, Messages: messages, Affinity: affinityOf(g.Query), Ledger: g.ledger}
	if shape != nil {
		shape(&req)
	}
	var answer T
	send := func() (err error) {
		answer, err = judge.Ask(ctx, g.env.Judge, req, parse)
		return err
	}
	logProbs := g.env.LogProbs
	if req.TopLogProbs == 0 {
		logProbs = nil
	}
	if err = logProbs.guard(ctx, send); err == nil {
		return answer, nil
	}
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) && fault.From(err).Code != fault.GroupTimeout {
		err = &judge.Error{Failure: judge.TimedOut, Err: fault.New(fault.GroupTimeout, "judge.group_timeout",
			"the group's time (this option, or the group's deadline) ran out: %w", err)}
	}
	return answer, fmt.Errorf("%s call: %w", kind, err)
}

// Repeat makes a request the i-th of several that ask the same thing: each sets
// its own seed, so that they are independent answers and no cache gives one for
// all. A request that stands alone keeps the judge's configured seed.
func (g *Group) Repeat(i, several int) func(*judge.Request) {
	if several == 1 {
		return nil
	}
	seed := g.Seed + int64(i)
	return func(r *judge.Request) { r.Seed = &seed }
}
