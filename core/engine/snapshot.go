package engine

import (
	"encoding/json"

	"github.com/rankbuffer/rankbuffer/core/checkpoint"
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
