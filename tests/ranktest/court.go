package ranktest

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

// ErrDown is what a request fails of that Court.Down picks.
var ErrDown = errors.New("the judge is down")

// Court is the Oracle under conditions. Run it in a synctest bubble when it is
// slow: time costs nothing there.
type Court struct {
	Oracle
	Latency func(key string) time.Duration // of each call; nil: none
	Seats   chan struct{}                  // at most so many calls at once; nil: any
	Down    func(key string) bool          // which requests fail; nil: none

	mu    sync.Mutex // guards Heard
	Heard []Hearing
}

// Hearing is one request that reached the Court.
type Hearing struct {
	Key  string // what was asked, its seed included
	Kind prompt.Kind
	Body []string // the candidates' texts as shown
	Seed *int64
}

func keyOf(req judge.Request) string {
	key := fmt.Sprint(req.Kind, req.Messages)
	if req.Seed != nil {
		key += fmt.Sprint(" seed ", *req.Seed)
	}
	return key
}

// Judge implements judge.Judge.
func (c *Court) Judge(ctx context.Context, req judge.Request) (judge.Reply, error) {
	h := Hearing{Key: keyOf(req), Kind: req.Kind, Seed: req.Seed}
	d, err := prompt.Read(req.Messages)
	if err != nil {
		return judge.Reply{}, err
	}
	for _, candidate := range d.Candidates {
		h.Body = append(h.Body, candidate.Body)
	}
	c.mu.Lock()
	c.Heard = append(c.Heard, h)
	c.mu.Unlock()
	if c.Seats != nil {
		c.Seats <- struct{}{}
		defer func() { <-c.Seats }()
	}
	if c.Latency != nil {
		time.Sleep(c.Latency(h.Key))
	}
	if c.Down != nil && c.Down(h.Key) {
		book(req, judge.Usage{}, ErrDown)
		return judge.Reply{}, &judge.Error{Failure: judge.Failed, Err: ErrDown}
	}
	return c.Oracle.Judge(ctx, req)
}

// Count is the number of requests so far.
func (c *Court) Count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.Heard)
}

// Jitter spreads latencies over a second, the same for the same request.
func Jitter(seed uint64) func(string) time.Duration {
	return func(key string) time.Duration {
		h := fnv.New64a()
		fmt.Fprint(h, seed, key)
		return time.Duration(h.Sum64() % uint64(time.Second))
	}
}
