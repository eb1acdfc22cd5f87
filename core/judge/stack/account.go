package stack

import (
	"context"
	"runtime/debug"
	"strings"
	"time"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/ledger"
)

// account measures every attempt, for retry or Ask to book. It is also where an
// empty answer becomes an error and a panic of what it wraps one, so that this
// holds for any judge.
type account struct{ inner layer }

func (a *account) ask(ctx context.Context, c *call) (judge.Reply, error) {
	start := time.Now()
	reply, err := a.safely(ctx, c)
	if err == nil && strings.TrimSpace(reply.Text) == "" {
		err = judge.EmptyAnswer(reply, "")
	}
	c.sent = &ledger.Attempt{Kind: c.Kind, Usage: reply.Usage, Answered: err == nil, Took: time.Since(start)}
	return reply, err
}

func (a *account) safely(ctx context.Context, c *call) (reply judge.Reply, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = judge.Fail(fault.Internal, "", "panic while judging: %v\n%s", p, debug.Stack())
		}
	}()
	return a.inner.ask(ctx, c)
}

func (a *account) Close() error { return a.inner.Close() }
