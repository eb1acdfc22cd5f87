package main

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestContainTurnsPanicsIntoErrors(t *testing.T) {
	var null *scorer
	for name, body := range map[string]func() error{
		"a value":           func() error { panic("boom") },
		"a nil dereference": func() error { null.ready.number++; return nil },
		"an index":          func() error { _ = []int{}[len(name(t))]; return nil },
	} {
		err := contain(body)
		var p *panicError
		if !errors.As(err, &p) || codeOf(err) != codePanic {
			t.Errorf("%s: got %v (code %d), want a panicError", name, err, codeOf(err))
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

func TestCheckUTF8(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"", ""},
		{"grün \U0001F600 \x7f", ""},
		{"\xff", "config: not UTF-8: byte 0xff at offset 0"},
		{"ab\xc3", "config: not UTF-8: byte 0xc3 at offset 2"},
		{"\ufffd\xed\xa0\x80", "config: not UTF-8: byte 0xed at offset 3"}, // a lone surrogate
	} {
		err := checkUTF8("config", []byte(tc.in))
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("checkUTF8(%q) = %v, want %q", tc.in, err, tc.want)
		}
		if err != nil && codeOf(err) != codeInvalid {
			t.Errorf("checkUTF8(%q): code %d, want %d", tc.in, codeOf(err), codeInvalid)
		}
	}
}
