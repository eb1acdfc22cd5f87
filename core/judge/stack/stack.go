// Package stack wraps a judge, or a pool of equal ones, with what every judge
// needs: further attempts, limits, an account and a time limit.
package stack

import (
	"context"

	"golang.org/x/sync/semaphore"

	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/ledger"
	"github.com/rankbuffer/rankbuffer/core/judge/options"
)

// New wraps the judges of one model, one for each base URL of the options (a
// simulated judge has none), and returns the ledger of all attempts. A request
// passes, from the outside in:
//
//	retry     makes further attempts where that can help
//	limit     lets max_concurrency attempts be in flight; no slot is held while waiting to retry
//	account   measures every attempt; an empty answer and a panic become errors
//	deadline  gives each attempt its timeout
//	pool      chooses the endpoint, by the request's affinity; a retry goes to another
func New(opts options.Judge, judges ...judge.Judge) (judge.Judge, *ledger.Ledger) {
	opts = opts.WithDefaults()
	books := new(ledger.Ledger)
	var inner layer = newPool(judges, opts.BaseURLs)
	inner = &deadline{inner: inner, timeout: opts.Timeout.Duration()}
	inner = &account{inner: inner}
	inner = &limit{inner: inner, slots: semaphore.NewWeighted(int64(max(opts.MaxConcurrency, 1)))}
	return &retry{inner: inner, ledger: books, max: *opts.MaxRetries,
		base: opts.Backoff.Duration(), most: opts.BackoffMax.Duration()}, books
}

// layer is one wrapper.
type layer interface {
	ask(ctx context.Context, c *call) (judge.Reply, error)
	Close() error
}

// call is one request on its way through the wrappers.
type call struct {
	judge.Request
	tried uint64 // holds a bit for each endpoint that has failed the request
	sent  *ledger.Attempt
}
