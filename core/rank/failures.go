package rank

import (
	"runtime/debug"
	"slices"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/judge"
)

// Fail records that a call about these candidates has no usable answer. They
// take no part in the ranking and the group changes no buffer.
func (g *Group) Fail(err error, cs ...*Candidate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	status := Status(judge.FailureOf(err))
	for _, c := range cs {
		g.failures[c] = worse(status, g.failures[c])
	}
	g.note(err)
}

// FailCall records a failed call that no single candidate answers for.
func (g *Group) FailCall(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.partial = true
	g.note(err)
}

// note keeps the failure that the result names: the first by text, so that it is
// the same in every run, however the calls interleave. The caller holds mu.
func (g *Group) note(err error) {
	if g.failure == nil || err.Error() < g.failure.Error() {
		g.failure = err
	}
}

// Failed reports whether the candidate has failed.
func (g *Group) Failed(c *Candidate) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failures[c] != ""
}

// NothingFailed reports whether nothing has failed so far. Only then may a group change
// its query's buffer.
func (g *Group) NothingFailed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.partial && len(g.failures) == 0 &&
		!slices.ContainsFunc(g.slots, func(s slot) bool { return s.status.Failed() })
}

// panicked fails the group after a panic in one of its goroutines.
func (g *Group) panicked(r any) {
	g.FailCall(panicError(r))
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.candidates {
		g.failures[c] = worse(JudgeFailed, g.failures[c])
	}
}

// panicError is the error of a panic, with the stack it came from.
func panicError(r any) error {
	return fault.New(fault.Internal, "", "internal error: %v\n%s", r, debug.Stack())
}
