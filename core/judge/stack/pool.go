package stack

import (
	"context"
	"errors"
	"hash/fnv"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/judge"
)

// pool spreads requests over endpoints that serve the same model. Requests that
// share an affinity go to the same endpoint (rendezvous hashing, so an endpoint
// that fails moves only its own requests); a retry goes to one that has not
// failed the request yet; one that seems down is left alone for a while.
type pool struct {
	endpoints []*endpoint
	next      atomic.Uint64 // spreads requests without affinity
}

type endpoint struct {
	judge judge.Judge
	hash  uint64
	bit   uint64
	// restUntil is when the endpoint may be asked again, in Unix nanoseconds.
	restUntil atomic.Int64
}

// rest is how long an endpoint that seems down is left alone.
const rest = 5 * time.Second

func newPool(judges []judge.Judge, names []string) *pool {
	p := &pool{endpoints: make([]*endpoint, len(judges))}
	for i, j := range judges {
		h := fnv.New64a()
		if i < len(names) {
			h.Write([]byte(names[i]))
		}
		p.endpoints[i] = &endpoint{judge: j, hash: h.Sum64(), bit: 1 << (i % 64)}
	}
	return p
}

func (p *pool) ask(ctx context.Context, c *call) (judge.Reply, error) {
	e := p.choose(c)
	reply, err := e.judge.Judge(ctx, c.Request)
	if err == nil {
		e.restUntil.Store(0)
		return reply, nil
	}
	failure := *judge.AsError(err)
	if pause := pauseAfter(&failure); pause > 0 {
		e.restUntil.Store(time.Now().Add(pause).UnixNano())
		if failure.Retryable && p.otherFor(c, e) {
			failure.RetryAfter = 0 // another endpoint need not wait for this one
		}
	}
	c.tried |= e.bit
	return reply, &failure
}

// pauseAfter says how long an endpoint is left alone after a failure.
func pauseAfter(e *judge.Error) time.Duration {
	switch e.StatusCode {
	case 502, 503, 504: // bad gateway, unavailable, gateway timeout
		return max(rest, e.RetryAfter)
	}
	if errors.Is(e, fault.JudgeUnreachable) {
		return rest
	}
	return e.RetryAfter
}

// choose prefers endpoints that are not resting and have not failed the request,
// in the order of its affinity.
func (p *pool) choose(c *call) *endpoint {
	if len(p.endpoints) == 1 {
		return p.endpoints[0]
	}
	affinity := c.Affinity
	if affinity == 0 {
		affinity = p.next.Add(1)
	}
	now := time.Now().UnixNano()
	rank := func(e *endpoint) int {
		n := 0
		if e.bit&c.tried != 0 {
			n += 2
		}
		if e.restUntil.Load() > now {
			n++
		}
		return n
	}
	// Ranks are read once each: another goroutine may change them meanwhile.
	best, bestRank, bestScore := (*endpoint)(nil), 0, uint64(0)
	for _, e := range p.endpoints {
		r, score := rank(e), mix(affinity^e.hash)
		if best == nil || r < bestRank || r == bestRank && score > bestScore {
			best, bestRank, bestScore = e, r, score
		}
	}
	return best
}

// otherFor reports whether a retry of the call would find an endpoint that is neither
// e nor resting.
func (p *pool) otherFor(c *call, e *endpoint) bool {
	now := time.Now().UnixNano()
	return slices.ContainsFunc(p.endpoints, func(o *endpoint) bool {
		return o != e && o.bit&c.tried == 0 && o.restUntil.Load() <= now
	})
}

// mix spreads every bit of x over the result (the finaliser of SplitMix64).
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

func (p *pool) Close() error {
	errs := make([]error, len(p.endpoints))
	for i, e := range p.endpoints {
		errs[i] = e.judge.Close()
	}
	return errors.Join(errs...)
}
