package engine

import (
	"encoding/json"
	"fmt"

	"github.com/rankbuffer/rankbuffer/core/buffer"
	"github.com/rankbuffer/rankbuffer/core/checkpoint"
)

// Snapshot writes every query's state to path, whole or not at all. Groups in
// flight go on; each query is saved as it was before or after a whole group.
func (e *Engine) Snapshot(path string) error {
	e.snapshots.Lock()
	defer e.snapshots.Unlock()
	if e.isClosed() {
		return ErrClosed
	}
	meta := checkpoint.Meta{Method: e.method.Shared().Name}
	if err := checkpoint.Write(path, meta, e.store.All()); err != nil {
		return fmt.Errorf("engine: snapshot: %w", fileError(err))
	}
	return nil
}

// Restore replaces every query's state by that of a snapshot. It refuses files
// it cannot trust, and while groups are in flight, and then changes nothing.
func (e *Engine) Restore(path string) error {
	e.snapshots.Lock()
	defer e.snapshots.Unlock()
	if e.isClosed() {
		return ErrClosed
	}
	meta, records, err := checkpoint.Read(path)
	if err != nil {
		return fmt.Errorf("engine: restore: %w", fileError(err))
	}
	if err := e.own(path, meta); err != nil {
		return fmt.Errorf("engine: restore: %w", err)
	}
	return e.replace(records)
}

// own refuses what another method wrote.
func (e *Engine) own(path string, meta checkpoint.Meta) error {
	if own := e.method.Shared().Name; meta.Method != own {
		return fmt.Errorf("%w: %s: was made by method %q, this scorer runs %q", ErrCheckpoint, path, meta.Method, own)
	}
	return nil
}

// replace makes these the records of the scorer.
func (e *Engine) replace(records []buffer.Record) error {
	e.journal.gate.Lock() // a journal goes on from the state that it began at
	defer e.journal.gate.Unlock()
	if e.journal.file != nil {
		return fmt.Errorf("engine: restore: %w: the journal is open, end it first", ErrBusy)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.flights) > 0 {
		return fmt.Errorf("engine: restore: %w: %d groups are in flight", ErrBusy, len(e.flights))
	}
	e.store.Replace(records)
	clear(e.queues)
	clear(e.proposed)
	return nil
}

func (e *Engine) isClosed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closed
}

// Inspect reads a checkpoint without a scorer: one query's buffer, or with an
// empty id {"meta": ..., "queries": [buffers]}.
func Inspect(path, queryID string) ([]byte, error) {
	if queryID != "" {
		r, err := checkpoint.ReadOne(path, queryID)
		if err != nil {
			return nil, fmt.Errorf("engine: inspect: %w", fileError(err))
		}
		return json.Marshal(r.View())
	}
	meta, records, err := checkpoint.Read(path)
	if err != nil {
		return nil, fmt.Errorf("engine: inspect: %w", fileError(err))
	}
	views := make([]any, len(records))
	for i, r := range records {
		views[i] = r.View()
	}
	return json.Marshal(map[string]any{"meta": meta, "queries": views})
}
