package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/rankbuffer/rankbuffer/core/buffer"
	"github.com/rankbuffer/rankbuffer/core/rank"
)

// flight is one group between its submission and its result.
type flight struct {
	ticket  uint64
	id      string // group_id
	ordinal int    // -1 for validation
	spec    groupJSON
	group   *rank.Group
	started time.Time

	ctx    context.Context
	cancel context.CancelCauseFunc
	before <-chan struct{} // closed when the group's turn has come; nil: it is now
	after  chan struct{}   // closed when it has taken effect; nil: nobody waits on it

	arrivals *time.Timer      // ends the arrivals of an open group at its deadline
	private  chan<- completed // takes the result instead of Poll
}

type completed struct {
	result rank.Result
	err    error
}

// launch admits a group and starts it. size < 0 takes the responses from the
// JSON; otherwise that many will be added.
func (e *Engine) launch(data []byte, size int, private chan<- completed) (*flight, error) {
	spec, err := decodeGroup(data, size, e.limits)
	if err != nil {
		return nil, fmt.Errorf("engine: %w: %w", ErrInvalid, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	f, err := e.admit(spec, size)
	if err != nil {
		return nil, err
	}
	f.private = private
	for i, text := range spec.Responses {
		if err := f.group.Add(i, spec.response(i, text)); err != nil {
			return nil, fmt.Errorf("engine: %w: %w", ErrInvalid, err)
		}
	}
	e.last++
	f.ticket = e.last
	q := e.queueOf(spec.QueryID)
	f.id, f.ordinal = q.groupID(spec)
	if spec.updates() {
		f.before, f.after = q.enter()
	}
	e.flights[f.ticket] = f
	e.startClock(f, size >= 0)
	e.groups.Add(1)
	go e.fly(f)
	return f, nil
}

// admit checks everything that can be known before a call is paid for and makes
// the group's query known. The caller holds e.mu.
func (e *Engine) admit(spec groupJSON, size int) (*flight, error) {
	if e.closed {
		return nil, ErrClosed
	}
	if len(e.flights) >= e.limits.MaxGroups {
		return nil, fmt.Errorf("engine: %w: %d groups are in flight, limits.max_groups", ErrBusy, len(e.flights))
	}
	if size < 0 {
		size = len(spec.Responses)
	}
	q := spec.query()
	if known, ok := e.store.Get(spec.QueryID); ok {
		if field := known.Query.Conflict(q); field != "" {
			return nil, fmt.Errorf("engine: %w: query_id %q: %s: differs from what was given first", ErrConflict, q.ID, field)
		}
		q = known.Query
	}
	s := rank.Spec{Query: q, Reference: spec.Reference, Size: size, Seed: e.seed, Validate: spec.Validate}
	if spec.Step != nil {
		s.Step = *spec.Step
	}
	if err := q.Validate(); err != nil {
		return nil, fmt.Errorf("engine: %w: %w", ErrInvalid, err)
	}
	if err := e.method.Check(s); err != nil {
		return nil, fmt.Errorf("engine: %w: group of query %q: %w", ErrInvalid, q.ID, err)
	}
	if err := e.create(q); err != nil {
		return nil, err
	}
	f := &flight{spec: spec, started: time.Now(), group: rank.NewGroup(s, e.method.Shared(), e.reasoning, e.env)}
	f.ctx, f.cancel = context.WithCancelCause(e.ctx)
	return f, nil
}

// startClock sets the deadline: a whole group must be judged by then, an open
// one takes no more responses after it.
func (e *Engine) startClock(f *flight, open bool) {
	d := f.spec.deadline()
	if d == 0 {
		return
	}
	f.arrivals = time.AfterFunc(d, func() {
		if open {
			f.group.Close(rank.Timeout)
		} else {
			f.cancel(context.DeadlineExceeded)
		}
	})
}

// fly takes the group through its turn to its result.
func (e *Engine) fly(f *flight) {
	defer e.groups.Done()
	defer f.cancel(nil)
	if f.before != nil {
		select {
		case <-f.before:
		case <-f.ctx.Done():
		}
	}
	done, next := e.judgeGroup(f)
	e.land(f, done, next)
	if f.after != nil {
		if f.before != nil {
			<-f.before // a group cancelled before its turn passes it on in order
		}
		close(f.after)
	}
}

// judgeGroup runs the method on the buffer as it is now.
func (e *Engine) judgeGroup(f *flight) (done completed, next *buffer.Buffer) {
	defer func() {
		if r := recover(); r != nil { // would end the host process
			done = completed{err: fmt.Errorf("engine: group %s: internal error: %v\n%s", f.id, r, debug.Stack())}
			next = nil
		}
	}()
	r, _ := e.store.Get(f.spec.QueryID)
	f.group.Buffer = r.Buffer
	switch {
	case f.spec.Epoch != nil:
		f.group.Epoch = *f.spec.Epoch
	case r.Buffer != nil:
		f.group.Epoch = r.Buffer.Groups
	}
	defer e.limitJudging(f)()
	res, next, err := rank.Score(f.ctx, e.method, f.group, e.policy)
	if err != nil {
		err = fmt.Errorf("engine: group %s: %w: %w", f.id, ErrJudge, err)
	}
	return completed{result: res, err: err}, next
}

// limitJudging cancels the group when judge.group_timeout_s have passed since
// its last response came and its turn began. It returns the stop.
func (e *Engine) limitJudging(f *flight) func() {
	if e.judge.groupTimeout == 0 {
		return func() {}
	}
	stop := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-f.group.Complete():
		case <-stop:
			return
		}
		clock := time.NewTimer(e.judge.groupTimeout)
		defer clock.Stop()
		select {
		case <-clock.C:
			f.cancel(context.DeadlineExceeded)
		case <-stop:
		}
	}()
	return func() {
		close(stop)
		<-ended
	}
}

// land commits the buffer, books the result and hands it over.
func (e *Engine) land(f *flight, done completed, next *buffer.Buffer) {
	done.result.GroupID = f.id
	if f.arrivals != nil {
		f.arrivals.Stop()
	}
	e.journal.enter()
	e.mu.Lock()
	if f.after != nil {
		q := e.queues[f.spec.QueryID]
		q.waiting--
		if q.tail == f.after {
			q.tail = nil
		}
	}
	if errors.Is(context.Cause(f.ctx), context.Canceled) {
		next = nil // the caller gave up: whatever was found changes nothing
	}
	written := e.commit(f, &done, next)
	delete(e.flights, f.ticket)
	e.stats.add(done)
	e.mu.Unlock()
	e.journal.leave(written) // before anyone sees the result

	done.result.LatencyMS = float64(time.Since(f.started).Microseconds()) / 1000
	if f.private != nil {
		f.private <- done
		return
	}
	e.done.push(itemOf(f.ticket, done.result, done.err))
}

// commit makes next the query's buffer, or proposes it if the group was scored
// with "update": false. A group whose tag was applied before changes nothing. It
// returns what to write down. The caller holds e.mu.
func (e *Engine) commit(f *flight, done *completed, next *buffer.Buffer) entry {
	base := f.group.Buffer
	if f.after == nil {
		if next != nil && !f.spec.Validate {
			e.propose(f, base, next)
		}
		return entry{}
	}
	if r, _ := e.store.Get(f.spec.QueryID); r.Tagged(f.spec.Tag) {
		return entry{}
	}
	if err := e.store.CommitTagged(f.spec.QueryID, base, next, f.ordinal+1, f.spec.Tag); err != nil {
		if next != nil && done.err == nil {
			done.err = fmt.Errorf("engine: group %s: %w", f.id, err)
		}
		return entry{}
	}
	if next != nil {
		done.result.Anchors = len(next.Anchors)
		done.result.Applied = true
		e.forget(f.spec.QueryID)
	}
	return e.entryOf(f.spec)
}

// entryOf is the state of the group's query as it is to be written down. The
// caller holds e.mu.
func (e *Engine) entryOf(g groupJSON) entry {
	r, _ := e.store.Get(g.QueryID)
	return entry{done: true, record: r, step: g.Step, mark: g.Mark, tag: g.Tag}
}
