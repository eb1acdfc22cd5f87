package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/rank"
)

// Submit starts a whole group. Poll returns its result with this ticket.
func (e *Engine) Submit(groupJSON []byte) (ticket uint64, err error) {
	f, err := e.launch(groupJSON, -1, nil)
	if err != nil {
		return 0, err
	}
	return f.ticket, nil
}

// Score runs a whole group and waits for its result. Ending ctx cancels it.
func (e *Engine) Score(ctx context.Context, groupJSON []byte) ([]byte, error) {
	done := make(chan completed, 1)
	f, err := e.launch(groupJSON, -1, done)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { f.cancel(nil) })
	defer stop()
	c := <-done
	if c.err != nil {
		return nil, c.err
	}
	return json.Marshal(c.result)
}

// Open starts a group whose responses come one by one. Where the method allows it,
// a response is judged when it arrives. The group ends when all expected responses
// are there, when it is closed, or at its deadline. If responses are missing, the
// group is partial and changes no buffer.
func (e *Engine) Open(groupJSON []byte, expected int) (ticket uint64, err error) {
	if expected < 1 {
		return 0, invalid("expected", "need at least 1, got %d", expected)
	}
	f, err := e.launch(groupJSON, expected, nil)
	if err != nil {
		return 0, err
	}
	return f.ticket, nil
}

// Add adds the response at index to an open group: a JSON string, or
// {"text", "eligible"?, "format_score"?}. If the group has closed, the error is
// fault.GroupEnded.
func (e *Engine) Add(ticket uint64, index int, response []byte) error {
	r, err := decodeResponse(fmt.Sprintf("responses[%d]", index), response, e.limits)
	if err != nil {
		return err
	}
	f, err := e.flight(ticket)
	if err != nil {
		return err
	}
	if index < 0 || index >= f.group.Size {
		return invalid("index", "%d is outside 0..%d in group %s", index, f.group.Size-1, f.id)
	}
	if err := f.add(index, r.apply(f.spec.response(index, r.Text))); err != nil {
		return fmt.Errorf("group %s: %w", f.id, err)
	}
	return nil
}

// CloseGroup closes an open group. The status of responses that did not come is
// cancelled. Closing a group that has all its responses changes nothing.
func (e *Engine) CloseGroup(ticket uint64) error {
	f, err := e.flight(ticket)
	if err != nil {
		return unlessEnded(err)
	}
	f.group.Close(rank.Cancelled)
	return nil
}

// Cancel ends a group; its responses come back cancelled. Cancelling a group
// that has ended changes nothing.
func (e *Engine) Cancel(ticket uint64) error {
	f, err := e.flight(ticket)
	if err != nil {
		return unlessEnded(err)
	}
	f.cancel(nil)
	return nil
}

func (e *Engine) flight(ticket uint64) (*flight, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, errClosed
	}
	if f := e.flights[ticket]; f != nil {
		return f, nil
	}
	if ticket >= 1 && ticket <= e.last {
		return nil, fault.New(fault.GroupEnded, "", "the group of ticket %d has ended", ticket)
	}
	return nil, fault.New(fault.UnknownGroup, "", "ticket %d was not given out", ticket)
}

func unlessEnded(err error) error {
	if errors.Is(err, fault.GroupEnded) {
		return nil
	}
	return err
}
