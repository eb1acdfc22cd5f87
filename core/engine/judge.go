package engine

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/sim"
)

// newJudge builds the judge the configuration names. Both kinds go through the
// same retries, limits and accounting.
func newJudge(data json.RawMessage) (judge.Judge, *judge.Ledger, time.Duration, error) {
	cfg, rest, err := judge.ParseConfig(data)
	if err != nil {
		return nil, nil, 0, err
	}
	if cfg.Type == judge.TypeSimulated {
		known, err := sim.ParseConfig(rest)
		if err != nil {
			return nil, nil, 0, fmt.Errorf("judge: %w", err)
		}
		inner, err := sim.New(known)
		if err != nil {
			return nil, nil, 0, fmt.Errorf("judge: %w", err)
		}
		j, ledger := judge.Wrap(inner, cfg)
		return j, ledger, cfg.GroupTimeout.Duration(), nil
	}
	j, ledger, err := judge.New(cfg)
	return j, ledger, cfg.GroupTimeout.Duration(), err
}
