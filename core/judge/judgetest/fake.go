// Package judgetest holds judges for tests: a scripted one, and an
// OpenAI-compatible HTTP server that does what a test tells it to.
package judgetest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/prompt"
)

// Fake is a judge that answers from a function and remembers what it was asked.
// It keeps no account: wrap it with judge.Wrap for that. It is safe for
// concurrent use.
type Fake struct {
	answer func(context.Context, judge.Request) (judge.Reply, error)

	mu       sync.Mutex // protects the fields below
	requests []judge.Request
	inFlight int
	peak     int
	closed   bool
}

// New returns a fake that answers from a function.
func New(answer func(context.Context, judge.Request) (judge.Reply, error)) *Fake {
	return &Fake{answer: answer}
}

// Texts returns a fake that gives every request of a kind the same answer. Other
// kinds fail.
func Texts(texts map[prompt.Kind]string) *Fake {
	return New(func(_ context.Context, req judge.Request) (judge.Reply, error) {
		text, ok := texts[req.Kind]
		if !ok {
			return judge.Reply{}, unexpected(req.Kind, 0)
		}
		return judge.Reply{Text: text, FinishReason: "stop"}, nil
	})
}

// Answer is one line of a script.
type Answer struct {
	Reply judge.Reply
	Err   error
}

// Say is the answer with a text, finished.
func Say(text string) Answer {
	return Answer{Reply: judge.Reply{Text: text, FinishReason: "stop"}}
}

// Script returns a fake that gives the requests of a kind these answers in turn.
// Requests beyond them fail.
func Script(lines map[prompt.Kind][]Answer) *Fake {
	var mu sync.Mutex // protects asked
	asked := make(map[prompt.Kind]int)
	return New(func(_ context.Context, req judge.Request) (judge.Reply, error) {
		mu.Lock()
		defer mu.Unlock()
		n := asked[req.Kind]
		asked[req.Kind]++
		if n >= len(lines[req.Kind]) {
			return judge.Reply{}, unexpected(req.Kind, n)
		}
		return lines[req.Kind][n].Reply, lines[req.Kind][n].Err
	})
}

func unexpected(kind prompt.Kind, n int) *judge.Error {
	return &judge.Error{Failure: judge.Failed, Err: fmt.Errorf("judgetest: no answer for request %d of kind %q", n, kind)}
}

// Judge implements judge.Judge.
func (f *Fake) Judge(ctx context.Context, req judge.Request) (judge.Reply, error) {
	f.mu.Lock()
	f.requests = append(f.requests, req)
	f.inFlight++
	f.peak = max(f.peak, f.inFlight)
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.inFlight--
	}()
	return f.answer(ctx, req)
}

// Close implements judge.Judge.
func (f *Fake) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	return nil
}

// Requests returns what was asked so far, in the order it came.
func (f *Fake) Requests() []judge.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.requests)
}

// Peak is the largest number of requests that were being answered at once.
func (f *Fake) Peak() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.peak
}

// Closed reports whether Close was called.
func (f *Fake) Closed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed
}
