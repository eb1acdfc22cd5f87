package main

import (
	"context"

	"github.com/rankbuffer/rankbuffer/core/engine"
)

// runner is what the ABI needs of an engine: engine.Engine in life, a fake in
// tests.
type runner interface {
	SetNotify(func()) // called when completions go from none to some
	CreateBuffer(query []byte) error
	Buffer(queryID string) ([]byte, error)
	Submit(group []byte) (ticket uint64, err error)
	Open(group []byte, expected int) (ticket uint64, err error)
	Add(ticket uint64, index int, response []byte) error
	CloseGroup(ticket uint64) error
	Cancel(ticket uint64) error
	Poll() []byte
	Score(ctx context.Context, group []byte) ([]byte, error)
	Update(groupID string) error
	Snapshot(path string) error
	Restore(path string) error
	Journal(path, snapshot string) error
	RestoreFrom(sources []byte) (engine.Restored, error)
	Stats() []byte
	Check(ctx context.Context) error
	Rubrics(ctx context.Context, query []byte) ([]byte, error)
	Close(ctx context.Context) error
}

var _ runner = (*engine.Engine)(nil)

// scorer is an engine and the descriptor that tells of its completions.
type scorer struct {
	runner
	ready *eventFD
}

// newScorer takes over e and closes it when it fails.
func newScorer(e runner) (*scorer, error) {
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
