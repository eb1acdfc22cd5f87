package main

import (
	"context"

	"github.com/rankbuffer/rankbuffer/core/engine"
)

// scorer is an engine and the descriptor that tells of its completions.
type scorer struct {
	*engine.Engine
	ready *eventFD
}

// newScorer takes over e and closes it when it fails.
func newScorer(e *engine.Engine) (*scorer, error) {
	ready, err := newEventFD()
	if err != nil {
		_ = e.Close(context.Background())
		return nil, err
	}
	e.SetNotify(ready.set)
	return &scorer{e, ready}, nil
}

// poll clears before it drains: a completion that comes in between is drained
// now and wakes once for nothing, the other way round it would never wake.
func (s *scorer) poll() []byte {
	s.ready.clear()
	return s.Poll()
}

func (s *scorer) kind() string { return "scorer" }

// stop also wakes who waits on the descriptor, to learn from rb_poll that the
// handle is closed.
func (s *scorer) stop() error {
	s.ready.set()
	return s.Close(context.Background())
}

func (s *scorer) release() { s.ready.close() }
