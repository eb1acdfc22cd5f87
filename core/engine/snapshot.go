package engine

import (
	"encoding/json"
	"fmt"

	"github.com/rankbuffer/rankbuffer/core/buffer"
	"github.com/rankbuffer/rankbuffer/core/checkpoint"
	"github.com/rankbuffer/rankbuffer/core/fault"
)

// Snapshot writes every query's state to path, whole or not at all. Groups in
// flight go on; each query is saved as it was before or after a whole group.
func (e *Engine) Snapshot(path string) error {
	e.snapshots.Lock()
	defer e.snapshots.Unlock()
	if e.isClosed() {
		return errClosed
	}
	meta := checkpoint.Meta{Method: e.method.Shared().Name}
	return checkpoint.Write(path, meta, e.store.All())
}

// Restore replaces every query's state by that of a snapshot. It refuses files
// it cannot trust, and while groups are in flight, and then changes nothing.
func (e *Engine) Restore(path string) error {
	e.snapshots.Lock()
	defer e.snapshots.Unlock()
	if e.isClosed() {
		return errClosed
	}
	meta, records, err := checkpoint.Read(path)
	if err != nil {
		return err
	}
	if err := e.own(path, meta); err != nil {
		return err
	}
	return e.replace(records)
}

// own refuses what another method wrote.
func (e *Engine) own(path string, meta checkpoint.Meta) error {
	if own := e.method.Shared().Name; meta.Method != own {
		return &fault.Error{Code: fault.CheckpointMethod, File: path, Err: fmt.Errorf("was made by method %q, this scorer runs %q", meta.Method, own)}
	}
	return nil
}

// replace makes these the records of the scorer.
func (e *Engine) replace(records []buffer.Record) error {
	e.journal.gate.Lock() // a journal goes on from the state that it began at
	defer e.journal.gate.Unlock()
	if e.journal.file != nil {
		return fault.New(fault.Busy, "", "the journal is open; end it before you restore")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.flights) > 0 {
		return fault.New(fault.Busy, "", "%d groups are in flight; restore when they have ended", len(e.flights))
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
			return nil, err
		}
		return json.Marshal(r.View())
	}
	meta, records, err := checkpoint.Read(path)
	if err != nil {
		return nil, err
	}
	views := make([]any, len(records))
	for i, r := range records {
		views[i] = r.View()
	}
	return json.Marshal(map[string]any{"meta": meta, "queries": views})
}
