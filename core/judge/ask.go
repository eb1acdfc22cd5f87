package judge

import (
	"context"
	"errors"
	"fmt"

	"github.com/rankbuffer/rankbuffer/core/prompt"
)

// ErrUnusable is wrapped by the error of a request whose answer came but could
// not be used, not even after the corrective re-ask.
var ErrUnusable = errors.New("unusable answer")

// reviser is implemented by the stack of New and Wrap: Ask alone knows whether
// an answer could be used, and corrects the account.
type reviser interface {
	revise(kind prompt.Kind, from, to outcome)
}

// Ask sends a request and parses its answer. An answer that is empty or that
// parse refuses is re-asked once, with the original messages, the bad answer
// (shortened) and what is wrong with it. An answer that still cannot be used is
// an *Error: Truncated if it was cut at the token limit, else Failed. An answer
// that was cut but parses is accepted.
func Ask[T any](ctx context.Context, j Judge, req Request, parse func(Reply) (T, error)) (T, error) {
	value, reply, first := askOnce(ctx, j, req, parse)
	if first == nil {
		return value, nil
	}
	if !worthReasking(first) {
		note(j, req, first, failed)
		return value, first
	}
	note(j, req, first, retried)

	again := req
	again.Messages = corrected(req.Messages, reply, first.Err)
	value, _, second := askOnce(ctx, j, again, parse)
	if second == nil {
		return value, nil
	}
	note(j, req, second, failed)
	final := *second
	final.Err = fmt.Errorf("%s: asked again after: %v; then: %w", req.Kind, first.Err, second.Err)
	return value, &final
}

func askOnce[T any](ctx context.Context, j Judge, req Request, parse func(Reply) (T, error)) (T, Reply, *Error) {
	var zero T
	reply, err := j.Judge(ctx, req)
	if err != nil {
		return zero, reply, asError(err)
	}
	value, err := parseSafely(reply, parse)
	if err == nil {
		return value, reply, nil
	}
	if reply.FinishReason == finishLength {
		return zero, reply, &Error{Failure: Truncated, Err: fmt.Errorf(
			"%w: it was cut at the token limit (judge.max_tokens) before a verdict: %w", ErrUnusable, err)}
	}
	return zero, reply, &Error{Failure: Failed, Err: fmt.Errorf("%w: %w", ErrUnusable, err)}
}

// finishLength is the finish reason of an answer cut at the token limit.
const finishLength = "length"

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
	if errors.Is(err, ErrNoLogProbs) {
		return false
	}
	return errors.Is(err, ErrUnusable) || errors.Is(err, ErrEmpty)
}

// note corrects the account of the attempt that err ended. An answer that came
// was counted as succeeded; an empty one, or none, as failed already.
func note(j Judge, req Request, err error, to outcome) {
	from := failed
	if errors.Is(err, ErrUnusable) {
		from = succeeded
	}
	if from == to {
		return
	}
	req.Tally.revise(req.Kind, from, to)
	if r, ok := j.(reviser); ok {
		r.revise(req.Kind, from, to)
	}
}
