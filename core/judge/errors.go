package judge

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Failure says why a request has no usable answer. Its text is the status a
// rollout carries.
type Failure string

// The failures of a judge request.
const (
	Failed    Failure = "judge_failed" // refused, unreachable, malformed beyond repair
	TimedOut  Failure = "timeout"      // the call's or the group's time ran out
	Truncated Failure = "truncated"    // the answer was cut at the token limit
	Cancelled Failure = "cancelled"    // the caller gave up
)

// What a judge's error can be about, for errors.Is.
var (
	ErrEmpty           = errors.New("the answer is empty")
	ErrUnauthorized    = errors.New("the endpoint refused the API key")
	ErrModelNotFound   = errors.New("the endpoint does not serve the model")
	ErrUnreachable     = errors.New("the endpoint cannot be reached")
	ErrContextOverflow = errors.New("the prompt overflows the model's context")
)

// Error is the error every Judge returns.
type Error struct {
	Failure    Failure
	Retryable  bool          // another attempt may help: network, 408, 429, 5xx, timeout of one call, empty answer
	RetryAfter time.Duration // what the endpoint asked for; 0 if it did not
	StatusCode int           // HTTP status; 0 when none was received
	Err        error

	endpoint uint64 // the bit of the pool's endpoint that failed; 0 outside a pool
}

func (e *Error) Error() string { return fmt.Sprintf("judge: %v", e.Err) }
func (e *Error) Unwrap() error { return e.Err }

// FailureOf maps any error of a judge call to the status a rollout carries.
func FailureOf(err error) Failure {
	var je *Error
	switch {
	case errors.As(err, &je):
		return je.Failure
	case errors.Is(err, context.DeadlineExceeded):
		return TimedOut
	case errors.Is(err, context.Canceled):
		return Cancelled
	default:
		return Failed
	}
}

// asError gives any error the shape every Judge promises.
func asError(err error) *Error {
	var je *Error
	if errors.As(err, &je) {
		if error(je) == err {
			return je
		}
		outer := *je
		outer.Err = err
		return &outer
	}
	return &Error{Failure: FailureOf(err), Err: err}
}

// stopped is the error of a request whose ctx is done: the caller gave up or
// the group's time ran out.
func stopped(ctx context.Context, doing string) *Error {
	failure, what := Cancelled, "cancelled"
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		failure, what = TimedOut, "the group's time (judge.group_timeout_s, deadline_ms) ran out"
	}
	return &Error{Failure: failure, Err: fmt.Errorf("%s while %s: %w", what, doing, context.Cause(ctx))}
}
