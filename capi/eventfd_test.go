package main

import (
	"syscall"
	"testing"
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

func TestEventDescriptorFollowsCompletions(t *testing.T) {
	fake := newFakeEngine()
	handles, h, s := live(t, fake)
	fd := s.ready.number
	if readable(t, fd) {
		t.Error("readable before anything completed")
	}
	fake.notify()
	fake.notify()
	if !readable(t, fd) {
		t.Error("not readable after a completion")
	}
	if string(s.poll()) != "[]" || readable(t, fd) {
		t.Error("still readable after a poll")
	}
	if err := closeHandle[*scorer](handles, h, forever); err != nil {
		t.Fatal(err)
	}
	fake.notify() // must not write to a descriptor that is someone else's by now
	s.ready.clear()
}

// Whoever waits on the descriptor learns of a close: it turns readable before it
// goes.
func TestClosingWakesTheDescriptor(t *testing.T) {
	fake := newFakeEngine()
	fake.blocked = make(chan struct{})
	handles, h, s := live(t, fake)
	closing := make(chan error, 1)
	go func() { closing <- closeHandle[*scorer](handles, h, forever) }()
	<-fake.closed
	if !readable(t, s.ready.number) {
		t.Error("not readable while closing")
	}
	close(fake.blocked)
	if err := <-closing; err != nil {
		t.Error(err)
	}
}
