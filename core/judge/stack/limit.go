package stack

import (
	"context"

	"golang.org/x/sync/semaphore"

	"github.com/rankbuffer/rankbuffer/core/judge"
)

// limit lets a number of attempts be in flight and the others wait, first come,
// first served.
type limit struct {
	inner layer
	slots *semaphore.Weighted
}

func (l *limit) ask(ctx context.Context, c *call) (judge.Reply, error) {
	if err := l.slots.Acquire(ctx, 1); err != nil {
		return judge.Reply{}, judge.Stopped(ctx, "waiting for a free slot (judge.max_concurrency)")
	}
	defer l.slots.Release(1)
	return l.inner.ask(ctx, c)
}

func (l *limit) Close() error { return l.inner.Close() }
