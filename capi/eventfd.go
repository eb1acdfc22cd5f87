package main

import (
	"encoding/binary"
	"errors"
	"sync"
	"syscall"

	"github.com/rankbuffer/rankbuffer/core/fault"
)

// eventFD is a Linux eventfd: readable from set until clear. The mutex keeps a
// late set from writing to a number that close gave back to the system.
type eventFD struct {
	mu     sync.Mutex // protects fd
	fd     int        // -1 once closed
	number int        // what the host was told; never changes
}

func newEventFD() (*eventFD, error) {
	fd, _, errno := syscall.Syscall(syscall.SYS_EVENTFD2, 0, syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0)
	if errno != 0 {
		return nil, fault.New(fault.FileError, "", "create an eventfd: %w", errno)
	}
	return &eventFD{fd: int(fd), number: int(fd)}, nil
}

// set makes it readable. A full counter is readable already.
func (e *eventFD) set() {
	one := binary.NativeEndian.AppendUint64(nil, 1)
	e.do(func(fd int) error { _, err := syscall.Write(fd, one); return err })
}

// clear makes it unreadable. An empty counter is so already.
func (e *eventFD) clear() {
	count := make([]byte, 8)
	e.do(func(fd int) error { _, err := syscall.Read(fd, count); return err })
}

// do runs a non-blocking system call on the open descriptor.
func (e *eventFD) do(call func(fd int) error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fd < 0 {
		return
	}
	for errors.Is(call(e.fd), syscall.EINTR) {
		continue
	}
}

func (e *eventFD) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fd >= 0 {
		_ = syscall.Close(e.fd)
		e.fd = -1
	}
}
