// Package judgetest holds a scripted judge for tests.
package judgetest

import (
	"context"
	"slices"
	"sync"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/prompt"
)

// Fake is a judge that answers from a function and remembers what it was asked.
// It keeps no account: wrap it with stack.New for that. It is safe for
// concurrent use.
type Fake struct {
	answer func(context.Context, judge.Request) (judge.Reply, error)

	mu       sync.Mutex // protects requests
	requests []judge.Request
}

// New returns a fake that answers from a function.
func New(answer func(context.Context, judge.Request) (judge.Reply, error)) *Fake {
	return &Fake{answer: answer}
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
			return judge.Reply{}, judge.Fail(fault.Internal, "", "no answer for request %d of kind %q", n, req.Kind)
		}
		return lines[req.Kind][n].Reply, lines[req.Kind][n].Err
	})
}

// Judge implements judge.Judge.
func (f *Fake) Judge(ctx context.Context, req judge.Request) (judge.Reply, error) {
	f.mu.Lock()
	f.requests = append(f.requests, req)
	f.mu.Unlock()
	return f.answer(ctx, req)
}

// Close implements judge.Judge.
func (f *Fake) Close() error { return nil }

// Requests returns what was asked so far, in the order it came.
func (f *Fake) Requests() []judge.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.requests)
}
