package engine

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/ledger"
	"github.com/rankbuffer/rankbuffer/core/judge/openai"
	"github.com/rankbuffer/rankbuffer/core/judge/options"
	"github.com/rankbuffer/rankbuffer/core/judge/sim"
	"github.com/rankbuffer/rankbuffer/core/judge/stack"
)

// judging is the judge of a scorer and what it was made from.
type judging struct {
	stack        judge.Judge
	ledger       *ledger.Ledger
	config       options.Judge
	groupTimeout time.Duration
}

// newJudge builds the judge the configuration names. Both kinds go through the
// same retries, limits and accounting.
func newJudge(data json.RawMessage) (judging, error) {
	opts, rest, err := options.Parse(data)
	if err != nil {
		return judging{}, err
	}
	judges, err := newJudges(opts, rest)
	if err != nil {
		return judging{}, err
	}
	out := judging{config: opts, groupTimeout: opts.GroupTimeout.Duration()}
	out.stack, out.ledger = stack.New(opts, judges...)
	return out, nil
}

func newJudges(opts options.Judge, own json.RawMessage) ([]judge.Judge, error) {
	if opts.Type != options.TypeSimulated {
		return openai.New(opts, nil)
	}
	known, err := sim.ParseConfig(own)
	if err != nil {
		return nil, fault.In("judge", err)
	}
	simulated, err := sim.New(known)
	if err != nil {
		return nil, fault.In("judge", err)
	}
	return []judge.Judge{simulated}, nil
}

// Check asks every endpoint of the judge once whether it can be reached, takes
// the key and serves the model, so that a run fails at its start. A simulated
// judge always can.
func (e *Engine) Check(ctx context.Context) error {
	if e.isClosed() {
		return errClosed
	}
	if e.judge.config.Type == options.TypeSimulated {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.ctx, cancel)() // Close does not wait for endpoints
	err := openai.Preflight(ctx, e.judge.config)
	switch {
	case err != nil && e.isClosed():
		return errClosed
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fault.New(fault.JudgeTimeout, "", "the judge did not answer within the time given to the check")
	case err != nil:
		return fault.Or(fault.JudgeUnreachable, err)
	}
	return nil
}
