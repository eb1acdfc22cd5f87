package judge

import (
	"context"
	"fmt"
	"time"
)

// deadline bounds the time of one attempt and tells an attempt that ran out of
// it, which may be tried again, from a request whose caller gave up or whose
// group ran out of time.
type deadline struct {
	inner   Judge
	timeout time.Duration
}

func (d *deadline) Judge(ctx context.Context, req Request) (Reply, error) {
	attempt, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	reply, err := d.inner.Judge(attempt, req)
	switch {
	case err == nil:
		return reply, nil
	case ctx.Err() != nil:
		return reply, stopped(ctx, "waiting for the judge's answer")
	case attempt.Err() != nil:
		e := asError(err)
		return reply, &Error{Failure: TimedOut, Retryable: true, endpoint: e.endpoint,
			Err: fmt.Errorf("no answer within %v (judge.timeout_s): %w", d.timeout, e.Err)}
	}
	return reply, err
}

func (d *deadline) Close() error { return d.inner.Close() }
