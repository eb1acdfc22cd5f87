package main

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const forever = time.Duration(-1)

// live makes a scorer on a fake engine and its handle in a table of its own.
func live(t *testing.T, e runner) (*table, uint64, *scorer) {
	t.Helper()
	s, err := newScorer(e)
	if err != nil {
		t.Fatalf("newScorer: %v", err)
	}
	handles := newTable()
	return handles, handles.add(s), s
}

func nothing(*scorer) error { return nil }

func TestHandleIsRefusedOnceClosed(t *testing.T) {
	handles, h, s := live(t, newFakeEngine())
	if err := use(handles, h, nothing); err != nil {
		t.Fatalf("use of a live handle: %v", err)
	}
	if err := closeHandle[*scorer](handles, h, forever); err != nil {
		t.Fatalf("close: %v", err)
	}
	for name, got := range map[string]error{
		"use after close":    use(handles, h, nothing),
		"second close":       closeHandle[*scorer](handles, h, forever),
		"handle 0":           use(handles, 0, nothing),
		"handle never given": use(handles, h+1, nothing),
	} {
		if codeOf(got) != codeHandle {
			t.Errorf("%s: got %v (code %d), want code %d", name, got, codeOf(got), codeHandle)
		}
	}
	if got := handles.open(); got != 0 {
		t.Errorf("%d handles open at the end, want 0", got)
	}
	if s.ready.fd != -1 {
		t.Error("the event descriptor is still open")
	}
}

func TestHandlesAreNeverReused(t *testing.T) {
	handles := newTable()
	seen := map[uint64]bool{}
	for range 100 {
		s, err := newScorer(newFakeEngine())
		if err != nil {
			t.Fatal(err)
		}
		h := handles.add(s)
		if h == 0 || seen[h] {
			t.Fatalf("handle %d is 0 or was given before", h)
		}
		seen[h] = true
		if err := closeHandle[*scorer](handles, h, forever); err != nil {
			t.Fatal(err)
		}
	}
}

func TestHandleOfAnotherKindIsRefusedByName(t *testing.T) {
	handles, h, _ := live(t, newFakeEngine())
	err := use(handles, h, func(*simulator) error { t.Error("body ran"); return nil })
	if codeOf(err) != codeHandle || !strings.Contains(err.Error(), "is a scorer, not a simulated judge") {
		t.Errorf("got %v", err)
	}
	if err := closeHandle[*simulator](handles, h, forever); codeOf(err) != codeHandle {
		t.Errorf("closed as another kind: got %v", err)
	}
	if err := closeHandle[*scorer](handles, h, forever); err != nil {
		t.Errorf("the handle did not survive: %v", err)
	}
}

// A close with a call in flight refuses new calls at once, is over only when the
// call is, and keeps the descriptor open until then.
func TestCloseWaitsForCallsInFlight(t *testing.T) {
	fake := newFakeEngine()
	fake.blocked, fake.scoring = make(chan struct{}), make(chan struct{}, 1)
	handles, h, s := live(t, fake)

	var both sync.WaitGroup
	both.Go(func() {
		err := use(handles, h, func(s *scorer) error {
			_, err := s.Score(context.Background(), nil)
			if s.ready.fd == -1 {
				t.Error("released under a call in flight")
			}
			return err
		})
		if err != nil {
			t.Errorf("the call in flight: %v", err)
		}
	})
	<-fake.scoring
	both.Go(func() {
		if err := closeHandle[*scorer](handles, h, forever); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	<-fake.closed
	if err := use(handles, h, nothing); codeOf(err) != codeHandle {
		t.Errorf("use while closing: got %v", err)
	}
	if got := handles.open(); got != 1 {
		t.Errorf("%d handles open while closing, want 1", got)
	}
	close(fake.blocked)
	both.Wait()
	if handles.open() != 0 || s.ready.fd != -1 {
		t.Errorf("after the close: %d handles open, descriptor %d", handles.open(), s.ready.fd)
	}
}

func TestCloseReturnsAtItsDeadlineAndFinishesLater(t *testing.T) {
	fake := newFakeEngine()
	fake.blocked = make(chan struct{})
	handles, h, _ := live(t, fake)
	err := closeHandle[*scorer](handles, h, deadline(1))
	if codeOf(err) != codeBusy {
		t.Errorf("got %v (code %d), want code %d", err, codeOf(err), codeBusy)
	}
	if err := use(handles, h, nothing); codeOf(err) != codeHandle {
		t.Errorf("use after the deadline: got %v", err)
	}
	close(fake.blocked)
	for handles.open() != 0 { // ends, or the test's own timeout tells
		time.Sleep(time.Millisecond)
	}
}

func TestPanicOnCloseStillReleases(t *testing.T) {
	fake := newFakeEngine()
	fake.panics = "boom"
	handles, h, s := live(t, fake)
	if err := closeHandle[*scorer](handles, h, forever); codeOf(err) != codePanic {
		t.Errorf("got %v, want code %d", err, codePanic)
	}
	if handles.open() != 0 || s.ready.fd != -1 {
		t.Error("the handle or its descriptor outlived a panic on close")
	}
}
