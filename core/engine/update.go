package engine

import (
	"fmt"

	"github.com/rankbuffer/rankbuffer/core/buffer"
)

// propose remembers what a group scored with "update": false would do. The
// caller holds e.mu.
func (e *Engine) propose(f *flight, base, next *buffer.Buffer) {
	if len(e.proposed) >= maxProposals {
		for id := range e.proposed { // any one: the caller never comes back for them
			delete(e.proposed, id)
			break
		}
	}
	spec := groupJSON{QueryID: f.spec.QueryID, Step: f.spec.Step, Tag: f.spec.Tag, Mark: f.spec.Mark}
	e.proposed[f.id] = &proposal{queryID: f.spec.QueryID, ordinal: f.ordinal, base: base, next: next, spec: spec}
}

// forget drops the proposals of a query whose buffer has moved on: they could
// only be refused. The caller holds e.mu.
func (e *Engine) forget(queryID string) {
	for id, p := range e.proposed {
		if p.queryID == queryID {
			delete(e.proposed, id)
		}
	}
}

// Update applies the maintenance of a group scored with "update": false. It is
// refused as stale once the buffer has moved on, and as busy while another group
// of the query is about to move it.
func (e *Engine) Update(groupID string) error {
	e.journal.enter()
	written, err := e.applyProposal(groupID)
	e.journal.leave(written)
	return err
}

func (e *Engine) applyProposal(groupID string) (entry, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return entry{}, ErrClosed
	}
	p := e.proposed[groupID]
	if p == nil {
		return entry{}, fmt.Errorf("engine: update: %w: group %q has no maintenance waiting (unknown, failed, already applied, or its buffer has moved on)", ErrStale, groupID)
	}
	q := e.queues[p.queryID]
	if q != nil && q.waiting > 0 {
		return entry{}, fmt.Errorf("engine: update: %w: %d groups of query %q are in flight", ErrBusy, q.waiting, p.queryID)
	}
	r, _ := e.store.Get(p.queryID)
	if r.Tagged(p.spec.Tag) {
		return entry{}, fmt.Errorf("engine: update: %w: group %q was applied before under its tag %q", ErrStale, groupID, p.spec.Tag)
	}
	if err := e.store.CommitTagged(p.queryID, p.base, p.next, max(r.Ordinal, p.ordinal+1), p.spec.Tag); err != nil {
		return entry{}, fmt.Errorf("engine: update: group %q: %w", groupID, err)
	}
	e.forget(p.queryID)
	return e.entryOf(p.spec), nil
}
