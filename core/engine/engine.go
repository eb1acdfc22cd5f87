// Package engine runs groups: it admits them, lets the groups of one query take
// effect in the order they came, feeds responses to the reward method as they
// arrive, commits buffers and hands back results. Everything outside speaks JSON
// to it.
package engine

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/rankbuffer/rankbuffer/core/buffer"
	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/query"
	"github.com/rankbuffer/rankbuffer/core/rank"
	"github.com/rankbuffer/rankbuffer/core/rank/methods"
	"github.com/rankbuffer/rankbuffer/core/reward"
)

// Engine is one scorer. All methods are safe for concurrent use.
type Engine struct {
	method    rank.Method
	judge     judging
	env       rank.Env
	store     *buffer.Store
	seed      int64
	policy    rank.OnFailure
	reasoning reward.Reasoning
	limits    limits

	ctx    context.Context // ends when the scorer closes; every group's context descends from it
	cancel context.CancelCauseFunc
	groups sync.WaitGroup // one count per group in flight

	closeJudge func() error // closes the judge once

	snapshots sync.Mutex // one snapshot or restore at a time
	journal   journal

	mu       sync.Mutex // guards what follows
	closed   bool
	last     uint64                // newest ticket
	flights  map[uint64]*flight    // in flight
	queues   map[string]*queue     // by query id
	proposed map[string][]proposal // by query id, oldest first
	stats    stats
	done     completions
}

// New makes a scorer from its configuration.
func New(configJSON []byte) (*Engine, error) {
	cfg, err := parseConfig(configJSON)
	if err != nil {
		return nil, err
	}
	method, err := methods.New(cfg.Method)
	if err != nil {
		return nil, err
	}
	reasoning, err := cfg.reasoning()
	if err != nil {
		return nil, err
	}
	templates, err := prompt.Load(cfg.Prompts)
	if err != nil {
		return nil, err
	}
	j, err := newJudge(cfg.Judge)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	return &Engine{
		method: method, judge: j, store: new(buffer.Store),
		env:  rank.Env{Judge: j.stack, Templates: templates, LogProbs: rank.NewLogProbs(), Centred: cfg.Advantage == "dr_grpo"},
		seed: cfg.Seed, policy: cfg.OnFailure, reasoning: reasoning,
		limits: cfg.limits,
		ctx:    ctx, cancel: cancel, flights: map[uint64]*flight{},
		queues: map[string]*queue{}, proposed: map[string][]proposal{}, stats: newStats(),
		closeJudge: sync.OnceValue(j.stack.Close),
	}, nil
}

// SetNotify sets what is called, without locks held, whenever completions go
// from none to some.
func (e *Engine) SetNotify(notify func()) { e.done.setNotify(notify) }

// CreateBuffer makes a query known and starts its buffer if the method keeps
// one. The same content again changes nothing; other content is fault.QueryConflict.
func (e *Engine) CreateBuffer(queryJSON []byte) error {
	q, err := e.decodeQuery(queryJSON)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return errClosed
	}
	return e.create(q)
}

// create is idempotent for equal content.
func (e *Engine) create(q query.Query) error {
	return e.store.Create(q, func() (*buffer.Buffer, error) {
		if s, ok := e.method.(rank.Starter); ok {
			return s.Start(q)
		}
		return nil, nil
	})
}

// Buffer returns a query's buffer as JSON (buffer.View).
func (e *Engine) Buffer(queryID string) ([]byte, error) {
	r, ok := e.store.Get(queryID)
	if !ok {
		return nil, fault.New(fault.UnknownQuery, "", "query_id %q is not known", queryID)
	}
	return json.Marshal(r.View())
}

// Close cancels what is in flight and waits for it until ctx ends. Closing again
// waits again.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.cancel(nil)
	ended := make(chan struct{})
	go func() { // ends with the last group, which the cancelled context ends soon
		e.groups.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		return fault.New(fault.Busy, "", "close: groups are still ending: %w", ctx.Err())
	}
	return errors.Join(e.journal.close(), e.closeJudge())
}
