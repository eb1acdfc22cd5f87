package main

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rankbuffer/rankbuffer/core/engine"
)

// readable asks the kernel, without taking anything from the descriptor.
func readable(t *testing.T, fd int) bool {
	t.Helper()
	var set syscall.FdSet
	set.Bits[fd/64] |= 1 << (fd % 64)
	n, err := syscall.Select(fd+1, &set, nil, nil, &syscall.Timeval{})
	if err != nil {
		t.Fatalf("select: %v", err)
	}
	return n == 1
}

// newTestScorer is a scorer whose judge takes its time.
func newTestScorer(t *testing.T) *scorer {
	t.Helper()
	e, err := engine.New([]byte(`{"method": {"name": "scr"}, "judge": {"type": "simulated", "latency_ms": 1, "qualities": {"a": 1, "b": 2}}}`))
	if err != nil {
		t.Fatal(err)
	}
	s, err := newScorer(e)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEventDescriptorFollowsCompletions(t *testing.T) {
	s := newTestScorer(t)
	handles, h := live(s)
	fd := s.ready.number
	if readable(t, fd) {
		t.Error("readable before anything completed")
	}
	for range 2 {
		if _, err := s.Submit([]byte(`{"query_id": "q", "query": "?", "responses": ["a", "b"]}`)); err != nil {
			t.Fatal(err)
		}
	}
	for done := 0; done < 2; { // ends, or the test's own timeout tells
		if !readable(t, fd) {
			continue
		}
		done += strings.Count(string(s.poll()), `"ticket"`)
	}
	if string(s.poll()) != "[]" || readable(t, fd) {
		t.Error("still readable after a poll")
	}
	if err := closeHandle[*scorer](handles, h, forever); err != nil {
		t.Fatal(err)
	}
	if s.ready.fd != -1 {
		t.Error("the event descriptor is still open")
	}
	s.ready.set() // must not write to a descriptor that is someone else's by now
	s.ready.clear()
}

// Whoever waits on the descriptor learns of a close: it turns readable before it
// goes.
func TestClosingWakesTheDescriptor(t *testing.T) {
	s := newTestScorer(t)
	handles, h := live(s)
	closing := make(chan error, 1)
	err := use(handles, h, func(s *scorer) error { // holds the release off
		go func() { closing <- closeHandle[*scorer](handles, h, forever) }()
		for !readable(t, s.ready.number) { // ends, or the test's own timeout tells
			time.Sleep(time.Millisecond)
		}
		return nil
	})
	if err := errors.Join(err, <-closing); err != nil {
		t.Error(err)
	}
}
