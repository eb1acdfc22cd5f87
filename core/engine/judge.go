package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/sim"
)

// judging is the judge of a scorer and what it was made from.
type judging struct {
	stack        judge.Judge
	ledger       *judge.Ledger
	config       judge.Config
	groupTimeout time.Duration
}

// newJudge builds the judge the configuration names. Both kinds go through the
// same retries, limits and accounting.
func newJudge(data json.RawMessage) (judging, error) {
	cfg, rest, err := judge.ParseConfig(data)
	if err != nil {
		return judging{}, err
	}
	out := judging{config: cfg, groupTimeout: cfg.GroupTimeout.Duration()}
	if cfg.Type == judge.TypeSimulated {
		known, err := sim.ParseConfig(rest)
		if err != nil {
			return judging{}, fmt.Errorf("judge: %w", err)
		}
		inner, err := sim.New(known)
		if err != nil {
			return judging{}, fmt.Errorf("judge: %w", err)
		}
		out.stack, out.ledger = judge.Wrap(inner, cfg)
		return out, nil
	}
	out.stack, out.ledger, err = judge.New(cfg)
	return out, err
}

// Check asks every endpoint of the judge once whether it can be reached, takes
// the key and serves the model, so that a run fails at its start. A simulated
// judge always can.
func (e *Engine) Check(ctx context.Context) error {
	if e.isClosed() {
		return ErrClosed
	}
	if e.judge.config.Type == judge.TypeSimulated {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.ctx, cancel)() // Close does not wait for endpoints
	if err := judge.Preflight(ctx, e.judge.config); err != nil {
		return fmt.Errorf("engine: check: %w: %w", ErrJudge, err)
	}
	return nil
}
