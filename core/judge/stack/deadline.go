package stack

import (
	"context"
	"time"

	"github.com/rankbuffer/rankbuffer/core/judge"
)

// deadline bounds the time of one attempt and tells an attempt that ran out of
// it, which may be tried again, from a request whose caller gave up or whose
// group ran out of time.
type deadline struct {
	inner   layer
	timeout time.Duration
}

func (d *deadline) ask(ctx context.Context, c *call) (judge.Reply, error) {
	var reply judge.Reply
	err := judge.Within(ctx, d.timeout, func(attempt context.Context) (err error) {
		reply, err = d.inner.ask(attempt, c)
		return err
	})
	return reply, err
}

func (d *deadline) Close() error { return d.inner.Close() }
