package rank

import (
	"context"
	"iter"
	"sync"
)

// arriving yields the candidates as they arrive, until no more can come.
func (g *Group) arriving(ctx context.Context) iter.Seq[*Candidate] {
	return func(yield func(*Candidate) bool) {
		for i := 0; ; i++ {
			var c *Candidate
			g.await(ctx, func() bool {
				if i < len(g.candidates) {
					c = g.candidates[i]
				}
				return c != nil
			})
			if c == nil || !yield(c) {
				return
			}
		}
	}
}

// Leader waits for the first response that is not empty, by the order of the
// group and not of arrival; false means there is none.
func (g *Group) Leader(ctx context.Context) (c *Candidate, ok bool) {
	g.await(ctx, func() bool {
		for _, s := range g.slots {
			if s.status == "" || s.cand != nil {
				c, ok = s.cand, s.cand != nil
				return ok
			}
		}
		return false
	})
	return c, ok
}

// await returns when what it waits for is there, when no more responses can
// come or when the context ends. ready is called with mu held.
func (g *Group) await(ctx context.Context, ready func() bool) {
	for {
		g.mu.Lock()
		done, arrived := ready() || g.closed, g.arrived
		g.mu.Unlock()
		if done {
			return
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return
		}
	}
}

// All waits for every response and returns the candidates ordered by ID.
func (g *Group) All(ctx context.Context) ([]*Candidate, error) {
	g.await(ctx, func() bool { return false })
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		return nil, context.Cause(ctx)
	}
	return sorted(g.candidates), nil
}

// Each runs fn for every candidate as it arrives, all at once, and returns when
// no more can come and every fn has ended.
func (g *Group) Each(ctx context.Context, fn func(context.Context, *Candidate)) {
	var wg sync.WaitGroup
	for c := range g.arriving(ctx) {
		g.spawn(&wg, func() { fn(ctx, c) })
	}
	wg.Wait()
}

// pairsAtOnce bounds the goroutines of one group's pairs, far above what any
// judge takes at a time: a group of thousands has millions of pairs.
const pairsAtOnce = 4096

// EachPair runs fn for every unordered pair of candidates as soon as both are
// there, all at once. a.ID < b.ID whatever the order of arrival.
func (g *Group) EachPair(ctx context.Context, fn func(ctx context.Context, a, b *Candidate)) {
	var wg sync.WaitGroup
	var seen []*Candidate
	seats := make(chan struct{}, pairsAtOnce)
	for c := range g.arriving(ctx) {
		for _, other := range seen {
			pair := sorted([]*Candidate{c, other})
			seats <- struct{}{}
			g.spawn(&wg, func() {
				defer func() { <-seats }()
				fn(ctx, pair[0], pair[1])
			})
		}
		seen = append(seen, c)
	}
	wg.Wait()
}

// Together runs fn(0..n-1) all at once and waits for them.
func (g *Group) Together(n int, fn func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		g.spawn(&wg, func() { fn(i) })
	}
	wg.Wait()
}

// spawn runs f in a goroutine that wg waits for. A panic fails the group: it
// would otherwise end the host process.
func (g *Group) spawn(wg *sync.WaitGroup, f func()) {
	wg.Go(func() {
		defer func() {
			if r := recover(); r != nil {
				g.panicked(r)
			}
		}()
		f()
	})
}
