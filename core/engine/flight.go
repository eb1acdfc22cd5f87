package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/rankbuffer/rankbuffer/core/buffer"
	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/rank"
)

// flight is one group between its submission and its result.
type flight struct {
	ticket  uint64
	id      string // group_id
	ordinal int    // -1 for validation
	spec    groupJSON
	group   *rank.Group
	handed  handed // used by groups with a result key alone
	started time.Time

	ctx    context.Context
	cancel context.CancelCauseFunc
	queue  *queue
	before <-chan struct{} // closed when the group's turn has come; nil: it is now
	after  chan struct{}   // closed when it has taken effect; nil: nobody waits on it

	arrivals *time.Timer      // ends the arrivals of an open group at its deadline
	private  chan<- completed // takes the result instead of Poll
}

type completed struct {
	result rank.Result
	err    error
}

// launch admits a group and starts it. With size < 0 the responses are in the
// JSON; otherwise the caller will add that many.
func (e *Engine) launch(data []byte, size int, private chan<- completed) (*flight, error) {
	f, err := e.prepare(data, size)
	if err != nil {
		return nil, err
	}
	spec := f.spec
	f.private = private
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.admit(f); err != nil {
		return nil, ofQuery(f.spec.ID, err)
	}
	f.ctx, f.cancel = context.WithCancelCause(e.ctx)
	e.last++
	f.ticket = e.last
	f.queue = e.queueOf(spec.ID)
	f.id, f.ordinal = f.queue.groupID(spec)
	if spec.updates() {
		f.before, f.after = f.queue.enter()
	}
	e.flights[f.ticket] = f
	e.startClock(f, size >= 0)
	e.groups.Add(1)
	go e.fly(f)
	return f, nil
}

// prepare decodes a group and adds the responses that are in its JSON. This is the
// part of launch that needs no lock.
func (e *Engine) prepare(data []byte, size int) (*flight, error) {
	spec, err := decodeGroup(data, size, e.limits)
	if err != nil {
		return nil, err
	}
	if size < 0 {
		size = len(spec.Responses)
	}
	s := rank.Spec{Query: e.answers(spec.Query), Reference: spec.Reference, Size: size, Seed: e.seed, Validate: spec.Validate}
	if spec.Step != nil {
		s.Step = *spec.Step
	}
	f := &flight{spec: spec, started: time.Now(), group: rank.NewGroup(s, e.method.Shared(), e.reasoning, e.env)}
	if spec.ResultKey != "" {
		f.handed.digests = make([]string, size)
	}
	for i, text := range spec.Responses {
		if err := f.add(i, spec.response(i, text)); err != nil {
			return nil, err
		}
	}
	f.spec.Responses = nil // the group holds what of them is judged
	return f, nil
}

// admit refuses a group that cannot be scored, before any call to the judge. The
// caller holds e.mu.
func (e *Engine) admit(f *flight) error {
	if e.closed {
		return errClosed
	}
	if len(e.flights) >= e.limits.MaxGroups {
		return fault.New(fault.Busy, "", "%d groups are in flight, the limit of max_groups", len(e.flights))
	}
	return e.admitQuery(&f.group.Spec)
}

// admitQuery fills in what earlier groups gave of the query, checks that the method
// can judge it, and makes the query known. The caller holds e.mu.
func (e *Engine) admitQuery(s *rank.Spec) error {
	if known, ok := e.store.Get(s.Query.ID); ok {
		if err := known.Query.CheckSame(s.Query); err != nil {
			return err
		}
		s.Query = known.Query
	}
	if err := s.Query.Validate(); err != nil {
		return err
	}
	if err := e.method.Check(*s); err != nil {
		return err
	}
	return e.create(s.Query)
}

// startClock sets the deadline. A whole group must be judged by then. An open
// group takes no more responses after it.
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

// fly waits for the group's turn, judges the group, commits its buffer and delivers
// its result.
func (e *Engine) fly(f *flight) {
	defer e.groups.Done()
	defer f.cancel(nil)
	turn := f.awaitTurn()
	done, next := e.judgeGroup(f)
	if f.arrivals != nil {
		f.arrivals.Stop()
	}
	done.result.GroupID = f.id
	done.result.LatencyMS = float64(time.Since(f.started).Microseconds()) / 1000
	if turn {
		e.settle(f, &done, next)
		e.pass(f)
	}
	e.deliver(f, done)
	if !turn { // a group that ended before its turn passes it on in order
		<-f.before
		e.pass(f)
	}
}

// awaitTurn waits until the earlier groups of the query have taken effect. It
// returns false if this group is cancelled meanwhile: then it may change nothing.
func (f *flight) awaitTurn() bool {
	if f.before == nil {
		return true
	}
	select {
	case <-f.before:
		return true
	case <-f.ctx.Done():
		return false
	}
}

// pass lets the next group of the query have its turn.
func (e *Engine) pass(f *flight) {
	if f.after == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	f.queue.leave(f.after)
}

// judgeGroup runs the method on the current buffer of the query.
func (e *Engine) judgeGroup(f *flight) (done completed, next *buffer.Buffer) {
	defer func() {
		if r := recover(); r != nil { // would end the host process
			done = completed{err: fault.New(fault.Internal, "", "group %s: %v\n%s", f.id, r, debug.Stack())}
			next = nil
		}
	}()
	r, _ := e.store.Get(f.spec.ID)
	f.group.Buffer = r.Buffer
	switch {
	case f.spec.Epoch != nil:
		f.group.Epoch = *f.spec.Epoch
	case r.Buffer != nil:
		f.group.Epoch = r.Buffer.Groups
	}
	defer e.limitJudging(f)()
	res, next, err := rank.Score(f.ctx, e.method, f.group, e.policy)
	switch {
	case err != nil && errors.Is(context.Cause(f.ctx), context.Canceled):
		err = fault.New(fault.Cancelled, "", "group %s: %w", f.id, err)
	case err != nil:
		err = fmt.Errorf("group %s: %w", f.id, fault.Or(fault.JudgeBadResponse, err))
	}
	return completed{result: res, err: err}, next
}

// limitJudging cancels the group when judge.group_timeout has passed since
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
