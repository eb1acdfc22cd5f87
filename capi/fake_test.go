package main

import (
	"context"
	"sync"

	"github.com/rankbuffer/rankbuffer/core/engine"
)

// fakeEngine is an engine whose groups end when the test says so.
type fakeEngine struct {
	notify func()
	err    error // what every fallible call returns
	panics any   // what every fallible call panics with, if not nil

	blocked chan struct{} // Score and Close wait until it is closed, if not nil
	scoring chan struct{} // receives when Score has begun, if not nil
	once    sync.Once
	closed  chan struct{} // closed by Close
}

func newFakeEngine() *fakeEngine { return &fakeEngine{closed: make(chan struct{})} }

func (f *fakeEngine) fail() error {
	if f.panics != nil {
		panic(f.panics)
	}
	return f.err
}

func (f *fakeEngine) SetNotify(notify func())          { f.notify = notify }
func (f *fakeEngine) CreateBuffer([]byte) error        { return f.fail() }
func (f *fakeEngine) Buffer(string) ([]byte, error)    { return nil, f.fail() }
func (f *fakeEngine) Submit([]byte) (uint64, error)    { return 1, f.fail() }
func (f *fakeEngine) Open([]byte, int) (uint64, error) { return 1, f.fail() }
func (f *fakeEngine) Add(uint64, int, []byte) error    { return f.fail() }
func (f *fakeEngine) CloseGroup(uint64) error          { return f.fail() }
func (f *fakeEngine) Cancel(uint64) error              { return f.fail() }
func (f *fakeEngine) Poll() []byte                     { return []byte("[]") }
func (f *fakeEngine) Update(string) error              { return f.fail() }
func (f *fakeEngine) Snapshot(string) error            { return f.fail() }
func (f *fakeEngine) Restore(string) error             { return f.fail() }
func (f *fakeEngine) Journal(string, string) error     { return f.fail() }
func (f *fakeEngine) Stats() []byte                    { return []byte("{}") }
func (f *fakeEngine) Check(context.Context) error      { return f.fail() }

func (f *fakeEngine) RestoreFrom([]byte) (engine.Restored, error) {
	return engine.Restored{}, f.fail()
}

func (f *fakeEngine) Rubrics(context.Context, []byte) ([]byte, error) {
	return nil, f.fail()
}

func (f *fakeEngine) Score(context.Context, []byte) ([]byte, error) {
	if f.scoring != nil {
		f.scoring <- struct{}{}
	}
	if f.blocked != nil {
		<-f.blocked
	}
	return nil, f.fail()
}

func (f *fakeEngine) Close(context.Context) error {
	f.once.Do(func() { close(f.closed) })
	if f.blocked != nil {
		<-f.blocked
	}
	return f.fail()
}
