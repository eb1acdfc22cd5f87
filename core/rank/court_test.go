package rank

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/prompt"
)

var errDown = errors.New("the judge is down")

// court is the oracle under conditions. Run it in a synctest bubble when it is
// slow: time costs nothing there.
type court struct {
	oracle
	latency func(key string) time.Duration // of each call; nil: none
	seats   chan struct{}                  // at most so many calls at once; nil: any
	down    func(key string) bool          // which requests fail; nil: none

	mu    sync.Mutex // guards heard
	heard []hearing
}

// hearing is one request that reached the court.
type hearing struct {
	key  string // what was asked, its seed included
	kind prompt.Kind
	body []string // the candidates' texts as shown
	seed *int64
}

func keyOf(req judge.Request) string {
	key := fmt.Sprint(req.Kind, req.Messages)
	if req.Seed != nil {
		key += fmt.Sprint(" seed ", *req.Seed)
	}
	return key
}

func (c *court) Judge(ctx context.Context, req judge.Request) (judge.Reply, error) {
	h := hearing{key: keyOf(req), kind: req.Kind, seed: req.Seed}
	d, err := prompt.Read(req.Messages)
	if err != nil {
		return judge.Reply{}, err
	}
	for _, candidate := range d.Candidates {
		h.body = append(h.body, candidate.Body)
	}
	c.mu.Lock()
	c.heard = append(c.heard, h)
	c.mu.Unlock()
	if c.seats != nil {
		c.seats <- struct{}{}
		defer func() { <-c.seats }()
	}
	if c.latency != nil {
		time.Sleep(c.latency(h.key))
	}
	if c.down != nil && c.down(h.key) {
		book(req, judge.Usage{}, errDown)
		return judge.Reply{}, &judge.Error{Failure: judge.Failed, Err: errDown}
	}
	return c.oracle.Judge(ctx, req)
}

// asked counts the requests so far.
func (c *court) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.heard)
}

// jitter spreads latencies over a second, the same for the same request.
func jitter(seed uint64) func(string) time.Duration {
	return func(key string) time.Duration {
		h := fnv.New64a()
		fmt.Fprint(h, seed, key)
		return time.Duration(h.Sum64() % uint64(time.Second))
	}
}
