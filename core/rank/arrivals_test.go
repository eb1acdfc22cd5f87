package rank

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/rankbuffer/rankbuffer/core/reward"
)

// A group of thousands has millions of pairs; they do not all take a goroutine.
func TestEachPairIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 120 // 7,140 pairs
		g := NewGroup(Spec{Size: n}, Options{Dedupe: true}, reward.DefaultReasoning, Env{})
		for i := range n {
			if err := g.Add(i, Response{Text: fmt.Sprint(i)}); err != nil {
				t.Fatal(err)
			}
		}
		var started atomic.Int32
		release, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			g.EachPair(t.Context(), func(_ context.Context, a, b *Candidate) {
				if a.ID >= b.ID {
					t.Errorf("%s comes before %s", a.ID, b.ID)
				}
				started.Add(1)
				<-release
			})
		}()
		synctest.Wait()
		if got := started.Load(); got != pairsAtOnce {
			t.Errorf("%d pairs at once, want %d", got, pairsAtOnce)
		}
		close(release)
		<-done
		if got := started.Load(); got != n*(n-1)/2 {
			t.Errorf("%d pairs in all, want %d", got, n*(n-1)/2)
		}
	})
}
