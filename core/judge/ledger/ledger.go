// Package ledger keeps the account of what was asked of a judge: how many
// attempts each kind of call took, how they ended, their tokens and latencies.
// An attempt is one request sent to an endpoint. It is booked once, by whoever
// knows how it ended.
package ledger

import (
	"sync"
	"time"

	"github.com/rankbuffer/rankbuffer/core/prompt"
)

// Ledger is an account: of all that a stack of judge wrappers has asked, or of
// one group's calls. The zero value is ready, a nil Ledger records nothing. It
// is safe for concurrent use.
type Ledger struct {
	mu    sync.Mutex // protects kinds and what it holds
	kinds map[prompt.Kind]*page
}

type page struct {
	Counts
	latencies histogram
}

// Attempt is one request that was sent to an endpoint.
type Attempt struct {
	Kind     prompt.Kind
	Usage    Usage
	Answered bool          // an answer came, usable or not
	Took     time.Duration // from sending until the answer or the failure
}

// Book records one attempt and how it ended.
func (l *Ledger) Book(a Attempt, end Outcome) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kinds == nil {
		l.kinds = make(map[prompt.Kind]*page)
	}
	p := l.kinds[a.Kind]
	if p == nil {
		p = new(page)
		l.kinds[a.Kind] = p
	}
	p.add(a.counted(end))
	if a.Answered {
		p.latencies.add(a.Took)
	}
}

// Report is a Ledger at one moment.
type Report struct {
	Kinds map[string]KindReport `json:"kinds"`
	Total Counts                `json:"total"`
}

// KindReport is the account of one kind of call. Latencies are those of the
// attempts that brought an answer, without the time spent waiting for a free
// slot or before a retry.
type KindReport struct {
	Counts
	Latency Latency `json:"latency_ms"`
}

// Latency gives quantiles in milliseconds, exact to about 2 %.
type Latency struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
}

// Report sums up what was recorded so far.
func (l *Ledger) Report() Report {
	r := Report{Kinds: make(map[string]KindReport)}
	if l == nil {
		return r
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for kind, p := range l.kinds {
		ms := func(q float64) float64 { return float64(p.latencies.quantile(q)) / float64(time.Millisecond) }
		r.Kinds[string(kind)] = KindReport{Counts: p.Counts, Latency: Latency{P50: ms(0.5), P90: ms(0.9), P99: ms(0.99)}}
		r.Total.add(p.Counts)
	}
	return r
}

// Calls counts the attempts by kind.
func (l *Ledger) Calls() map[string]int {
	out := make(map[string]int)
	for kind, n := range l.Report().Kinds {
		out[kind] = n.Tried
	}
	return out
}

// Usage is the tokens of all attempts.
func (l *Ledger) Usage() Usage { return l.Report().Total.Tokens }
