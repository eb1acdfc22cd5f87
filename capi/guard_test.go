package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rankbuffer/rankbuffer/core/fault"
)

func TestContainTurnsPanicsIntoErrors(t *testing.T) {
	var null *scorer
	for name, body := range map[string]func() error{
		"a value":           func() error { panic("boom") },
		"a nil dereference": func() error { null.ready.number++; return nil },
		"an index":          func() error { _ = []int{}[len(name(t))]; return nil },
	} {
		err := contain(body)
		if !errors.Is(err, fault.Internal) {
			t.Errorf("%s: got %v, want %v", name, err, fault.Internal)
		} else if !strings.Contains(err.Error(), "guard_test.go") {
			t.Errorf("%s: the error does not say where it came from:\n%v", name, err)
		}
	}
	if want := errors.New("plain"); contain(func() error { return want }) != want {
		t.Error("an error did not pass unchanged")
	}
}

func name(t *testing.T) string { return t.Name() }

func TestDeadline(t *testing.T) {
	for ms, want := range map[int64]time.Duration{
		-1: forever, -1 << 63: forever, 0: grace, 1: grace, 5000: 5 * time.Second,
	} {
		if got := deadline(ms); got != want {
			t.Errorf("deadline(%d) = %v, want %v", ms, got, want)
		}
	}
	if got := deadline(1<<63 - 1); got <= 0 {
		t.Errorf("the longest deadline overflowed to %v", got)
	}
}
