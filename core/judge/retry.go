package judge

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/rankbuffer/rankbuffer/core/prompt"
)

// retry makes further attempts where that can help: the network failed, one call
// timed out, or the status was 408, 429 or 5xx. An empty answer gets one further
// attempt only, since at temperature 0 the same question gets the same answer;
// what remains empty is for Ask to correct.
type retry struct {
	inner      Judge
	ledger     *Ledger
	max        int
	base, most time.Duration // the first wait, and the longest that is not asked for
}

// longestAsked bounds the Retry-After that is waited for when the context has no
// deadline of its own.
const longestAsked = 10 * time.Minute

func (r *retry) Judge(ctx context.Context, req Request) (Reply, error) {
	empty := 0
	for attempt := 0; ; attempt++ {
		reply, err := r.inner.Judge(ctx, req)
		if err == nil {
			return reply, nil
		}
		e := asError(err)
		if errors.Is(e, ErrEmpty) {
			empty++
		}
		if !e.Retryable || attempt >= r.max || empty > 1 {
			return reply, e
		}
		wait := max(r.backoff(attempt), e.RetryAfter)
		if tooLong(ctx, wait) {
			return reply, outOfTime(e, wait)
		}
		if !sleep(ctx, wait) {
			return reply, stopped(ctx, fmt.Sprintf("waiting to try again after: %v", e.Err))
		}
		r.revise(req.Kind, failed, retried)
		req.Tally.revise(req.Kind, failed, retried)
		req.tried |= e.endpoint
	}
}

// backoff doubles with every attempt and is spread over its upper half, so that
// requests that failed together do not come back together.
func (r *retry) backoff(attempt int) time.Duration {
	wait := min(float64(r.base)*math.Exp2(float64(attempt)), float64(r.most))
	return time.Duration(wait * (0.5 + rand.Float64()/2))
}

func tooLong(ctx context.Context, wait time.Duration) bool {
	if end, ok := ctx.Deadline(); ok {
		return time.Until(end) < wait
	}
	return wait > longestAsked
}

// outOfTime gives up now rather than after a wait that leaves no time to ask.
func outOfTime(e *Error, wait time.Duration) *Error {
	final := *e
	final.Err = fmt.Errorf("not tried again, as the wait of %v before it is longer than the time left: %w", wait.Round(time.Millisecond), e.Err)
	return &final
}

// sleep reports whether it lasted the whole time.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// revise makes the stack a reviser.
func (r *retry) revise(kind prompt.Kind, from, to outcome) { r.ledger.counter.revise(kind, from, to) }

func (r *retry) Close() error { return r.inner.Close() }
