package engine

import (
	"fmt"
	"strings"

	"github.com/rankbuffer/rankbuffer/core/buffer"
	"github.com/rankbuffer/rankbuffer/core/checkpoint"
	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/query"
	"github.com/rankbuffer/rankbuffer/core/rank"
)

// proposal is the buffer update of a group that was scored with "update": false.
type proposal struct {
	groupID string
	ordinal int
	base    *buffer.Buffer
	next    *buffer.Buffer
	spec    groupJSON // without its texts
}

// maxProposals is how many proposals are kept for one query: the caller may never
// apply some.
const maxProposals = 64

// propose keeps the buffer update of a group for Update. The caller holds e.mu.
func (e *Engine) propose(f *flight, base, next *buffer.Buffer) {
	spec := groupJSON{givenQuery: givenQuery{Query: query.Query{ID: f.spec.ID}}, Step: f.spec.Step, IdempotencyKey: f.spec.IdempotencyKey, AfterCheckpoint: f.spec.AfterCheckpoint}
	all := append(e.proposed[spec.ID], proposal{groupID: f.id, ordinal: f.ordinal, base: base, next: next, spec: spec})
	e.proposed[spec.ID] = all[max(0, len(all)-maxProposals):]
}

// forget drops the proposals of a query whose buffer has changed: none of them fits
// any more. The caller holds e.mu.
func (e *Engine) forget(queryID string) { delete(e.proposed, queryID) }

// findProposal returns the proposal of a group. The caller holds e.mu.
func (e *Engine) findProposal(groupID string) (proposal, bool) {
	// query_id/step/ordinal: the id may hold slashes, the other two do not.
	queryID := groupID
	for range 2 {
		queryID = queryID[:max(0, strings.LastIndexByte(queryID, '/'))]
	}
	for _, p := range e.proposed[queryID] {
		if p.groupID == groupID {
			return p, true
		}
	}
	return proposal{}, false
}

// Update applies the buffer update of a group that was scored with "update": false.
// The error is fault.StaleUpdate if the buffer has changed since, and fault.Busy
// while another group of the query is in flight.
func (e *Engine) Update(groupID string) error {
	e.journal.enter()
	written, leave, err := e.applyProposal(groupID)
	e.journal.leave(written)
	leave()
	return err
}

// applyProposal commits a proposal. It enters the query's queue, so that no later
// group commits before this commit is in the journal; leave leaves the queue.
func (e *Engine) applyProposal(groupID string) (written *checkpoint.Entry, leave func(), err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	leave = func() {}
	if e.closed {
		return nil, leave, errClosed
	}
	if _, keeps := e.method.(rank.Starter); !keeps {
		return nil, leave, fault.New(fault.StaleUpdate, "", "the method %s keeps no buffer, its groups have nothing to update", e.method.Shared().Name)
	}
	p, ok := e.findProposal(groupID)
	if !ok {
		return nil, leave, fault.New(fault.StaleUpdate, "", "group %q has no update that still fits: it is unknown, has failed, was applied before, or its buffer has changed", groupID)
	}
	id := p.spec.ID
	q := e.queueOf(id)
	if q.waiting > 0 {
		return nil, leave, fault.New(fault.Busy, "", "%d groups of query %q are in flight", q.waiting, id)
	}
	r, _ := e.store.Get(id)
	if r.Applied(p.spec.IdempotencyKey) {
		return nil, leave, fault.New(fault.StaleUpdate, "", "group %q was applied before under its idempotency key %q", groupID, p.spec.IdempotencyKey)
	}
	if err := e.store.Commit(id, p.base, p.next, max(r.Ordinal, p.ordinal+1), p.spec.IdempotencyKey); err != nil {
		return nil, leave, fmt.Errorf("group %q: %w", groupID, err)
	}
	e.forget(id)
	_, after := q.enter()
	leave = func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		q.leave(after)
	}
	return e.entryOf(p.spec), leave, nil
}
