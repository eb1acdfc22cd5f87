package judge

import (
	"context"
	"errors"
	"time"

	"github.com/rankbuffer/rankbuffer/core/fault"
)

// Failure says why a request has no usable answer. Its text is the status a
// response carries.
type Failure string

// The failures of a judge request.
const (
	Failed    Failure = "judge_failed" // refused, unreachable, malformed beyond repair
	TimedOut  Failure = "timeout"      // the attempt's or the group's time ran out
	Truncated Failure = "truncated"    // the answer was cut at the token limit
	Cancelled Failure = "cancelled"    // the caller gave up
)

// Error is the error every Judge returns. Err has a fault.Code.
type Error struct {
	Failure    Failure
	Retryable  bool          // another attempt may help: network, 408, 429, 5xx, timeout of one attempt, empty answer
	RetryAfter time.Duration // what the endpoint asked for; 0 if it did not
	StatusCode int           // HTTP status; 0 when none was received
	Err        error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Fail makes the error of a code. The field is the option to change, "" if none
// would help; the format takes %w.
func Fail(code fault.Code, field, format string, args ...any) *Error {
	failure := Failed
	switch code {
	case fault.JudgeTimeout, fault.GroupTimeout:
		failure = TimedOut
	case fault.JudgeTruncated:
		failure = Truncated
	case fault.Cancelled:
		failure = Cancelled
	}
	return &Error{Failure: failure, Err: fault.New(code, field, format, args...)}
}

// Retry marks the error as one after which another attempt may help.
func (e *Error) Retry() *Error {
	e.Retryable = true
	return e
}

// FailureOf maps any error of a judge call to the status a response carries.
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

// AsError gives any error the shape every Judge promises.
func AsError(err error) *Error {
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

// Stopped is the error of a request whose ctx is done: the caller gave up or the
// group's time ran out.
func Stopped(ctx context.Context, doing string) *Error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return Fail(fault.GroupTimeout, "judge.group_timeout",
			"the group's time (this option, or the group's deadline) ran out while %w", done(ctx, doing))
	}
	return Fail(fault.Cancelled, "", "the group was cancelled while %w", done(ctx, doing))
}

// Waiting is the error of an attempt whose ctx is done. Within says whose time
// ran out.
func Waiting(ctx context.Context, on string) *Error { return AsError(done(ctx, "waiting for "+on)) }

// ended says what was done when a context ended, and wraps the cause.
type ended struct {
	doing string
	error
}

func (e ended) Error() string { return e.doing }
func (e ended) Unwrap() error { return e.error }

func done(ctx context.Context, doing string) error {
	cause := context.Cause(ctx)
	if cause != ctx.Err() { // it says more than that the context ended
		doing += ": " + cause.Error()
	}
	return ended{doing, cause}
}

// EmptyAnswer is worth another attempt, unless all tokens were used up: the same
// would happen again. The hint says more about the cause.
func EmptyAnswer(reply Reply, hint string) *Error {
	if reply.FinishReason == FinishLength {
		return Fail(fault.JudgeTruncated, "judge.max_tokens", "the answer is empty, because it was cut at the token limit; raise this option%s", hint)
	}
	return Fail(fault.JudgeEmpty, "", "the answer is empty%s", hint).Retry()
}

// Within gives one attempt its time. If that runs out, the attempt failed and
// may be tried again; if ctx is done, the whole request is over.
func Within(ctx context.Context, timeout time.Duration, attempt func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := attempt(limited)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return Stopped(ctx, "waiting for the judge's answer")
	case limited.Err() != nil:
		return Fail(fault.JudgeTimeout, "judge.timeout", "no answer within %v while %w", timeout, AsError(err).Err).Retry()
	}
	return err
}
