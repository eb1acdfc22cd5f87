package main

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rankbuffer/rankbuffer/core/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const forever = time.Duration(-1)

// fake is a resource whose stop ends when the test says so.
type fake struct {
	blocked  chan struct{} // stop waits until it is closed, if not nil
	panics   any           // what stop panics with, if not nil
	stopping chan struct{} // closed by stop
	released bool
}

func newFake() *fake { return &fake{stopping: make(chan struct{})} }

func (f *fake) kind() string { return "fake" }
func (f *fake) release()     { f.released = true }
func (f *fake) stop() error {
	close(f.stopping)
	if f.blocked != nil {
		<-f.blocked
	}
	if f.panics != nil {
		panic(f.panics)
	}
	return nil
}

// live makes a table of its own for a resource.
func live(r resource) (*table, uint64) {
	handles := newTable()
	return handles, handles.add(r)
}

func nothing(*fake) error { return nil }

func TestHandleIsRefusedOnceClosed(t *testing.T) {
	f := newFake()
	handles, h := live(f)
	if err := use(handles, h, nothing); err != nil {
		t.Fatalf("use of a live handle: %v", err)
	}
	if err := closeHandle[*fake](handles, h, forever); err != nil {
		t.Fatalf("close: %v", err)
	}
	for name, got := range map[string]error{
		"use after close":    use(handles, h, nothing),
		"second close":       closeHandle[*fake](handles, h, forever),
		"handle 0":           use(handles, 0, nothing),
		"handle never given": use(handles, h+1, nothing),
	} {
		if !errors.Is(got, fault.Closed) {
			t.Errorf("%s: got %v, want %v", name, got, fault.Closed)
		}
	}
	if got := handles.open(); got != 0 {
		t.Errorf("%d handles open at the end, want 0", got)
	}
	if !f.released {
		t.Error("it was not released")
	}
}

func TestHandlesAreNeverReused(t *testing.T) {
	handles := newTable()
	seen := map[uint64]bool{}
	for range 100 {
		h := handles.add(newFake())
		if h == 0 || seen[h] {
			t.Fatalf("handle %d is 0 or was given before", h)
		}
		seen[h] = true
		if err := closeHandle[*fake](handles, h, forever); err != nil {
			t.Fatal(err)
		}
	}
}

func TestHandleOfAnotherKindIsRefusedByName(t *testing.T) {
	handles, h := live(newFake())
	err := use(handles, h, func(*simulator) error { t.Error("body ran"); return nil })
	if !errors.Is(err, fault.Closed) || !strings.Contains(err.Error(), "is a fake, not a simulated judge") {
		t.Errorf("got %v", err)
	}
	if err := closeHandle[*simulator](handles, h, forever); !errors.Is(err, fault.Closed) {
		t.Errorf("closed as another kind: got %v", err)
	}
	if err := closeHandle[*fake](handles, h, forever); err != nil {
		t.Errorf("the handle did not survive: %v", err)
	}
}

// A close with a call in flight refuses new calls at once, is over only when the
// call is, and keeps the descriptor open until then.
func TestCloseWaitsForCallsInFlight(t *testing.T) {
	f := newFake()
	f.blocked = make(chan struct{})
	handles, h := live(f)
	calling, answer := make(chan struct{}), make(chan struct{})

	var both sync.WaitGroup
	both.Go(func() {
		err := use(handles, h, func(f *fake) error {
			close(calling)
			<-answer
			if f.released {
				t.Error("released under a call in flight")
			}
			return nil
		})
		if err != nil {
			t.Errorf("the call in flight: %v", err)
		}
	})
	<-calling
	both.Go(func() {
		if err := closeHandle[*fake](handles, h, forever); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	<-f.stopping
	if err := use(handles, h, nothing); !errors.Is(err, fault.Closed) {
		t.Errorf("use while closing: got %v", err)
	}
	if got := handles.open(); got != 1 {
		t.Errorf("%d handles open while closing, want 1", got)
	}
	close(f.blocked)
	close(answer)
	both.Wait()
	if handles.open() != 0 || !f.released {
		t.Errorf("after the close: %d handles open, released: %v", handles.open(), f.released)
	}
}

func TestCloseReturnsAtItsDeadlineAndFinishesLater(t *testing.T) {
	f := newFake()
	f.blocked = make(chan struct{})
	handles, h := live(f)
	err := closeHandle[*fake](handles, h, deadline(1))
	if !errors.Is(err, fault.Busy) {
		t.Errorf("got %v, want %v", err, fault.Busy)
	}
	if err := use(handles, h, nothing); !errors.Is(err, fault.Closed) {
		t.Errorf("use after the deadline: got %v", err)
	}
	close(f.blocked)
	for handles.open() != 0 { // ends, or the test's own timeout tells
		time.Sleep(time.Millisecond)
	}
}

func TestPanicOnCloseStillReleases(t *testing.T) {
	f := newFake()
	f.panics = "boom"
	handles, h := live(f)
	if err := closeHandle[*fake](handles, h, forever); !errors.Is(err, fault.Internal) {
		t.Errorf("got %v, want %v", err, fault.Internal)
	}
	if handles.open() != 0 || !f.released {
		t.Error("the handle outlived a panic on close")
	}
}
