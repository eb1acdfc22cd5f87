package engine

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/rubrics"
)

// Rubrics has the judge write rubrics for a query from its ranked responses and
// returns them as JSON, [{"text", "weight"}]. It changes nothing: give them back
// with the query to use them. Ending ctx or closing the scorer cancels it.
func (e *Engine) Rubrics(ctx context.Context, queryJSON []byte) ([]byte, error) {
	q, err := e.decodeQuery(queryJSON)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil, errClosed
	}
	e.groups.Add(1) // Close waits
	e.mu.Unlock()
	defer e.groups.Done()

	ctx, cancel := context.WithTimeout(ctx, e.judge.groupTimeout)
	defer cancel()
	stop := context.AfterFunc(e.ctx, cancel)
	defer stop()
	written, err := rubrics.Write(ctx, e.env.Judge, e.env.Templates, q)
	switch {
	case err == nil:
		return json.Marshal(written)
	case errors.Is(ctx.Err(), context.Canceled):
		return nil, fault.New(fault.Cancelled, "", "query %q: %w", q.ID, err)
	default:
		return nil, ofQuery(q.ID, fault.Or(fault.JudgeBadResponse, err))
	}
}
