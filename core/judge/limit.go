package judge

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// limit lets a number of attempts be in flight and the others wait, first come,
// first served.
type limit struct {
	inner Judge
	slots *semaphore.Weighted
}

func (l *limit) Judge(ctx context.Context, req Request) (Reply, error) {
	if err := l.slots.Acquire(ctx, 1); err != nil {
		return Reply{}, stopped(ctx, "waiting for a free slot (judge.max_concurrency)")
	}
	defer l.slots.Release(1)
	return l.inner.Judge(ctx, req)
}

func (l *limit) Close() error { return l.inner.Close() }
