package rank

import (
	"context"
	"errors"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/judge/verdict"
)

// Whatever else goes wrong with the first call says nothing of the endpoint.
func TestLogProbsAfterAnotherFailure(t *testing.T) {
	l, calls := NewLogProbs(), 0
	fails := func(err error) func() error { return func() error { calls++; return err } }
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.guard(t.Context(), fails(errDown)); !errors.Is(err, errDown) {
		t.Errorf("got %v", err)
	}
	if err := l.guard(t.Context(), fails(verdict.NoLogProbs())); !errors.Is(err, fault.JudgeNoLogProbs) {
		t.Errorf("got %v", err)
	}
	if err := l.guard(t.Context(), fails(nil)); err != nil || calls != 3 {
		t.Errorf("got %v after %d calls", err, calls)
	}
	l, calls = NewLogProbs(), 0
	l.turn <- struct{}{} // another call is finding out
	if err := l.guard(cancelled, fails(nil)); !errors.Is(err, context.Canceled) || calls != 0 {
		t.Errorf("cancelled while waiting: %v after %d calls", err, calls)
	}
}

var errDown = errors.New("the judge is down")
