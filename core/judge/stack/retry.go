package stack

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/ledger"
)

// retry makes further attempts where that can help: the network failed, one call
// timed out, or the status was 408, 429 or 5xx. An empty answer gets one further
// attempt only, since at temperature 0 the same question gets the same answer;
// what remains empty is for Ask to correct.
type retry struct {
	inner      layer
	ledger     *ledger.Ledger
	max        int
	base, most time.Duration // the first wait, and the longest that is not asked for
}

// longestAsked bounds the Retry-After that is waited for when the context has no
// deadline of its own.
const longestAsked = 10 * time.Minute

// Judge books the last attempt by whether it brought an answer.
func (r *retry) Judge(ctx context.Context, req judge.Request) (judge.Reply, error) {
	reply, book, err := r.JudgeUnbooked(ctx, req)
	if err != nil {
		book(ledger.Failed)
	} else {
		book(ledger.Succeeded)
	}
	return reply, err
}

// JudgeUnbooked makes retry a judge.Accounted.
func (r *retry) JudgeUnbooked(ctx context.Context, req judge.Request) (judge.Reply, judge.Booking, error) {
	c := &call{Request: req}
	empty := 0
	for attempt := 0; ; attempt++ {
		c.sent = nil
		reply, err := r.inner.ask(ctx, c)
		book := r.booking(c)
		if err == nil {
			return reply, book, nil
		}
		e := judge.AsError(err)
		if errors.Is(e, fault.JudgeEmpty) {
			empty++
		}
		if !e.Retryable || attempt >= r.max || empty > 1 {
			return reply, book, e
		}
		wait := max(r.backoff(attempt), e.RetryAfter)
		if tooLong(ctx, wait) {
			return reply, book, outOfTime(e, wait)
		}
		if !sleep(ctx, wait) {
			return reply, book, judge.Stopped(ctx, fmt.Sprintf("waiting to try again after: %v", e.Err))
		}
		book(ledger.Retried)
	}
}

// booking books the attempt that the call has just made, if one was sent.
func (r *retry) booking(c *call) judge.Booking {
	sent := c.sent
	return func(end ledger.Outcome) {
		if sent != nil {
			r.ledger.Book(*sent, end)
			c.Ledger.Book(*sent, end)
		}
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
func outOfTime(e *judge.Error, wait time.Duration) *judge.Error {
	final := *e
	final.Err = fmt.Errorf("no further attempt was made, because the wait of %v before it is longer than the time left: %w", wait.Round(time.Millisecond), e.Err)
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

func (r *retry) Close() error { return r.inner.Close() }
