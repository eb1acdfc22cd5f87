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

// Error is the error every Judge returns.
type Error struct {
	Failure    Failure
	Retryable  bool          // another attempt may help: network, 429, 5xx, empty or malformed answer
	RetryAfter time.Duration // what the endpoint asked for; 0 if it did not
	StatusCode int           // HTTP status; 0 when none was received
	Err        error
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
