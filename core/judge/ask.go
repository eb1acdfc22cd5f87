package judge

import (
	"context"
	"errors"
	"fmt"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/judge/ledger"
)

// Accounted is a judge that keeps an account of its attempts.
type Accounted interface {
	Judge
	// JudgeUnbooked is Judge, but leaves the last attempt for the caller to book,
	// who alone knows whether the answer can be used.
	JudgeUnbooked(ctx context.Context, req Request) (Reply, Booking, error)
}

// Booking books an attempt in every ledger it belongs to. Call it once.
type Booking func(ledger.Outcome)

// Ask sends a request and parses its answer. An answer that is empty or that
// parse refuses is re-asked once, with the original messages, the bad answer
// (shortened) and what is wrong with it. An answer that still cannot be used is
// an *Error: Truncated if it was cut at the token limit, else Failed. An answer
// that was cut but parses is accepted.
func Ask[T any](ctx context.Context, j Judge, req Request, parse func(Reply) (T, error)) (T, error) {
	value, reply, book, first := askOnce(ctx, j, req, parse)
	switch {
	case first == nil:
		book(ledger.Succeeded)
		return value, nil
	case !worthReasking(first):
		book(ledger.Failed)
		return value, first
	}
	book(ledger.Retried)
	again := req
	again.Messages = corrected(req.Messages, reply, first.Err)
	value, _, book, second := askOnce(ctx, j, again, parse)
	if second == nil {
		book(ledger.Succeeded)
		return value, nil
	}
	book(ledger.Failed)
	final := *second
	final.Err = fmt.Errorf("the judge was asked again, with the same result: %w", second.Err)
	if first.Error() != second.Error() {
		final.Err = fmt.Errorf("the judge was asked again after its first answer failed (%v); the second failed too: %w", first.Err, second.Err)
	}
	return value, &final
}

func askOnce[T any](ctx context.Context, j Judge, req Request, parse func(Reply) (T, error)) (value T, reply Reply, book Booking, failed *Error) {
	reply, book, err := judgeUnbooked(ctx, j, req)
	if err != nil {
		return value, reply, book, AsError(err)
	}
	if value, err = parseSafely(reply, parse); err != nil {
		return value, reply, book, unusable(reply, err)
	}
	return value, reply, book, nil
}

func judgeUnbooked(ctx context.Context, j Judge, req Request) (Reply, Booking, error) {
	if accounted, ok := j.(Accounted); ok {
		return accounted.JudgeUnbooked(ctx, req)
	}
	reply, err := j.Judge(ctx, req)
	return reply, func(ledger.Outcome) {}, err
}

// unusable is the error of an answer that parse refused.
func unusable(reply Reply, err error) *Error {
	if errors.Is(err, fault.JudgeNoLogProbs) {
		return &Error{Failure: Failed, Err: err}
	}
	e := Fail(fault.JudgeNoVerdict, "", "the answer holds no usable verdict: %w", err)
	if reply.FinishReason == FinishLength {
		return Fail(fault.JudgeTruncated, "judge.max_tokens", "the answer was cut at the token limit: %w", e.Err)
	}
	return e
}

// FinishLength is the finish reason of an answer cut at the token limit.
const FinishLength = "length"

// parseSafely keeps a parser's panic from ending the process: it reads hostile
// text inside someone's training run.
func parseSafely[T any](reply Reply, parse func(Reply) (T, error)) (value T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("parsing the answer: panic: %v", p)
		}
	}()
	return parse(reply)
}

// worthReasking tells answers that came but could not be used from requests
// that failed, and from endpoints that cannot give what is asked for.
func worthReasking(err error) bool {
	return errors.Is(err, fault.JudgeNoVerdict) || errors.Is(err, fault.JudgeEmpty) || errors.Is(err, fault.JudgeTruncated)
}
