package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/rankbuffer/rankbuffer/core/buffer"
	"github.com/rankbuffer/rankbuffer/core/checkpoint"
)

// settle commits the buffer and writes the commit to the journal. Only then is the
// result delivered, and only then does the next group of the query run.
func (e *Engine) settle(f *flight, done *completed, next *buffer.Buffer) {
	givenUp := errors.Is(context.Cause(f.ctx), context.Canceled)
	if givenUp {
		next = nil // whatever was found changes nothing
	}
	e.journal.enter()
	e.mu.Lock()
	written := e.commit(f, done, next)
	e.mu.Unlock()
	if written != nil && !givenUp {
		written.Result = f.keyedResult(done)
	}
	e.journal.leave(written)
}

// deliver counts the result and gives it to the caller of Score or to Poll.
func (e *Engine) deliver(f *flight, done completed) {
	e.mu.Lock()
	delete(e.flights, f.ticket)
	e.stats.add(f, done)
	e.mu.Unlock()

	if f.private != nil {
		f.private <- done
		return
	}
	e.done.push(itemOf(f.ticket, done.result, done.err))
}

// commit makes next the query's buffer, or proposes it if the group was scored
// with "update": false. A group whose idempotency key was applied before changes
// nothing. It returns the entry for the journal, nil for none. The caller holds e.mu.
func (e *Engine) commit(f *flight, done *completed, next *buffer.Buffer) *checkpoint.Entry {
	base := f.group.Buffer
	if f.after == nil {
		if next != nil && !f.spec.Validate {
			e.propose(f, base, next)
		}
		return nil
	}
	r, _ := e.store.Get(f.spec.ID)
	if r.Applied(f.spec.IdempotencyKey) {
		if f.spec.ResultKey == "" {
			return nil
		}
		return e.entryOf(f.spec) // the record as it is, for the sake of the result
	}
	if err := e.store.Commit(f.spec.ID, base, next, max(r.Ordinal, f.ordinal+1), f.spec.IdempotencyKey); err != nil {
		if next != nil && done.err == nil {
			done.err = fmt.Errorf("group %s: %w", f.id, err)
		}
		return nil
	}
	if next != nil {
		done.result.Anchors = len(next.Anchors)
		done.result.Applied = true
		e.forget(f.spec.ID)
	}
	return e.entryOf(f.spec)
}

// entryOf is the journal's entry of the group, with the current state of its query.
// The caller holds e.mu.
func (e *Engine) entryOf(g groupJSON) *checkpoint.Entry {
	r, _ := e.store.Get(g.ID)
	return &checkpoint.Entry{Step: g.Step, AfterCheckpoint: g.AfterCheckpoint, IdempotencyKey: g.IdempotencyKey, Record: r}
}
