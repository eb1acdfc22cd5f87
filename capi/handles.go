package main

import (
	"sync"
	"time"

	"github.com/rankbuffer/rankbuffer/core/fault"
)

// resource is what a handle stands for.
type resource interface {
	// kind names it in errors.
	kind() string
	// stop refuses new work, cancels what is in flight and waits for it. It may
	// take long; calls that use the resource may still be running.
	stop() error
	// release frees what those calls need; they are over by now.
	release()
}

// table maps handles to resources. A handle counts up from 1 and is never used
// again, so a stale one is refused and not mistaken for another.
type table struct {
	mu      sync.Mutex // protects everything below, and the fields of each entry
	last    uint64
	entries map[uint64]*entry
}

// entry is a live handle: open, then closing, then removed from the table.
type entry struct {
	resource
	users   int           // calls running on it
	closing bool          // no new call is let in
	idle    chan struct{} // closed once closing and without users
}

func newTable() *table { return &table{entries: make(map[uint64]*entry)} }

// add makes r live and returns its handle.
func (t *table) add(r resource) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last++
	t.entries[t.last] = &entry{resource: r, idle: make(chan struct{})}
	return t.last
}

// open counts the live handles, those still closing included.
func (t *table) open() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.entries)
}

// lookup finds the open entry of a handle. The table is locked.
func lookup[T resource](t *table, handle uint64) (*entry, T, error) {
	var none T
	e, ok := t.entries[handle]
	if !ok || e.closing {
		return nil, none, fault.New(fault.Closed, "", "%s %d was closed or never existed", none.kind(), handle)
	}
	r, ok := e.resource.(T)
	if !ok {
		return nil, none, fault.New(fault.Closed, "", "handle %d is a %s, not a %s", handle, e.kind(), none.kind())
	}
	return e, r, nil
}

// use runs body on the resource of a handle and keeps it from being released
// meanwhile.
func use[T resource](t *table, handle uint64, body func(T) error) error {
	t.mu.Lock()
	e, r, err := lookup[T](t, handle)
	if err == nil {
		e.users++
	}
	t.mu.Unlock()
	if err != nil {
		return err
	}
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		e.users--
		e.signalIdle()
	}()
	return body(r)
}

// signalIdle closes idle when nobody uses a closing entry. The table is locked.
func (e *entry) signalIdle() {
	if e.closing && e.users == 0 {
		close(e.idle)
	}
}

// closeHandle makes the handle invalid at once, stops its resource, waits for
// the calls that use it and releases it. Past the deadline (none if negative) it
// returns fault.Busy and the rest goes on in the background.
func closeHandle[T resource](t *table, handle uint64, deadline time.Duration) error {
	t.mu.Lock()
	e, _, err := lookup[T](t, handle)
	if err == nil {
		e.closing = true
		e.signalIdle()
	}
	t.mu.Unlock()
	if err != nil {
		return err
	}

	ended := make(chan error, 1)
	go func() { ended <- t.finish(handle, e) }()
	if deadline < 0 {
		return <-ended
	}
	timer := time.NewTimer(deadline)
	defer timer.Stop()
	select {
	case err := <-ended:
		return err
	case <-timer.C:
		return fault.New(fault.Busy, "", "close %s %d: still in flight at the deadline of %v; it is finished in the background", e.kind(), handle, deadline)
	}
}

// finish takes a closing entry out of the table once it has ended. A resource
// whose stop panicked is released and removed like any other.
func (t *table) finish(handle uint64, e *entry) error {
	err := contain(e.stop)
	<-e.idle
	if panicked := contain(func() error { e.release(); return nil }); panicked != nil {
		err = panicked
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.entries, handle)
	return err
}
