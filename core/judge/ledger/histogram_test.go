package ledger

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestQuantiles against the exact ones of the same durations.
func TestQuantiles(t *testing.T) {
	for _, seed := range []uint64{1, 2, 3} {
		var h histogram
		var all []time.Duration
		r := rand.New(rand.NewPCG(seed, 0))
		for range 5000 {
			x := r.Uint64()
			d := time.Duration(1+x%1000) * time.Duration(1+x>>32%1000) * 50 * time.Microsecond
			h.add(d)
			all = append(all, d)
		}
		slices.Sort(all)
		for _, q := range []float64{0.5, 0.9, 0.99, 1} {
			want := all[int(q*float64(len(all)))-1]
			if got := h.quantile(q); got < want*97/100 || got > want*103/100 {
				t.Errorf("seed %d: quantile %v is %v, want %v", seed, q, got, want)
			}
		}
	}
	var h histogram
	if h.quantile(0.5) != 0 {
		t.Error("a quantile of nothing")
	}
	h.add(0)
	h.add(-time.Second)
	h.add(1000 * time.Hour)
	if got := h.quantile(1); got <= 0 || got > 1000*time.Hour {
		t.Errorf("of out-of-range durations: %v", got)
	}
	var one histogram
	one.add(200 * time.Millisecond)
	if got := one.quantile(0.99); got != 200*time.Millisecond {
		t.Errorf("of one: %v", got)
	}
}
