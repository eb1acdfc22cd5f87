package judge

import (
	"sync"
	"time"

	"github.com/rankbuffer/rankbuffer/core/prompt"
)

// Ledger is the account of everything a stack has asked, by kind of call. It is
// safe for concurrent use.
type Ledger struct {
	counter counter

	mu        sync.Mutex // protects latencies and what it holds
	latencies map[prompt.Kind]*histogram
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
	for kind, n := range l.counter.snapshot() {
		r.Kinds[string(kind)] = KindReport{Counts: n, Latency: l.latency(kind)}
		r.Total.add(n)
	}
	return r
}

func (l *Ledger) latency(kind prompt.Kind) Latency {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.latencies[kind]
	if h == nil {
		return Latency{}
	}
	ms := func(q float64) float64 { return float64(h.quantile(q)) / float64(time.Millisecond) }
	return Latency{P50: ms(0.5), P90: ms(0.9), P99: ms(0.99)}
}

func (l *Ledger) attempt(kind prompt.Kind, end outcome, usage Usage, took time.Duration) {
	l.counter.attempt(kind, end, usage)
	if end != succeeded {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.latencies == nil {
		l.latencies = make(map[prompt.Kind]*histogram)
	}
	h := l.latencies[kind]
	if h == nil {
		h = new(histogram)
		l.latencies[kind] = h
	}
	h.add(took)
}
