package rank

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
)

// Each runs fn for every candidate as it arrives, all at once, and returns when
// no more can come and every fn has ended.
func (g *Group) Each(ctx context.Context, fn func(context.Context, *Candidate)) {
	var wg sync.WaitGroup
	for i := 0; ; i++ {
		c, ok := g.next(ctx, i)
		if !ok {
			break
		}
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
	for i := 0; ; i++ {
		c, ok := g.next(ctx, i)
		if !ok {
			break
		}
		for _, other := range seen {
			pair := []*Candidate{c, other}
			slices.SortFunc(pair, func(x, y *Candidate) int { return strings.Compare(x.ID, y.ID) })
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

func (g *Group) panicked(r any) {
	g.FailCall(fmt.Errorf("internal error: %v\n%s", r, debug.Stack()))
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.candidates {
		g.failures[c] = worse(JudgeFailed, g.failures[c])
	}
}
