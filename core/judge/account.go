package judge

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
)

// account records every attempt in the ledger and the request's tally. It is
// also where an empty answer becomes an error and a panic of what it wraps one,
// so that this holds for any judge.
type account struct {
	inner  Judge
	ledger *Ledger
}

func (a *account) Judge(ctx context.Context, req Request) (Reply, error) {
	start := time.Now()
	reply, err := a.safely(ctx, req)
	if err == nil && strings.TrimSpace(reply.Text) == "" {
		err = emptyAnswer(reply, "")
	}
	end := succeeded
	if err != nil {
		end = failed
	}
	a.ledger.attempt(req.Kind, end, reply.Usage, time.Since(start))
	req.Tally.Attempt(req.Kind, reply.Usage, err)
	return reply, err
}

// emptyAnswer is worth another attempt, unless all tokens were used up: the same
// would happen again.
func emptyAnswer(reply Reply, hint string) *Error {
	if reply.FinishReason == finishLength {
		return &Error{Failure: Truncated, Err: fmt.Errorf("%w: it was cut at the token limit; raise judge.max_tokens%s", ErrEmpty, hint)}
	}
	return &Error{Failure: Failed, Retryable: true, Err: fmt.Errorf("%w%s", ErrEmpty, hint)}
}

func (a *account) safely(ctx context.Context, req Request) (reply Reply, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &Error{Failure: Failed, Err: fmt.Errorf("panic while judging: %v\n%s", p, debug.Stack())}
		}
	}()
	return a.inner.Judge(ctx, req)
}

func (a *account) Close() error { return a.inner.Close() }
