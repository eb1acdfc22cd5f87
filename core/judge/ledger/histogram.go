package ledger

import (
	"math"
	"time"
)

// histogram counts durations in buckets that grow by a constant factor, so its
// memory is bounded and a quantile is off by at most half a bucket, 2.2 %.
type histogram struct {
	counts   [buckets]uint64
	total    uint64
	min, max time.Duration
}

const (
	finest    = 10 * time.Microsecond // below: the first bucket
	perOctave = 16
	buckets   = 30 * perOctave // up to 2^30 x finest, about 3 hours
)

func (h *histogram) add(d time.Duration) {
	i := 0
	if d > finest {
		i = min(int(math.Log2(float64(d)/float64(finest))*perOctave), buckets-1)
	}
	h.counts[i]++
	if h.total == 0 || d < h.min {
		h.min = d
	}
	h.max = max(h.max, d)
	h.total++
}

// quantile returns the duration that a share q of those added does not exceed; 0
// when there are none.
func (h *histogram) quantile(q float64) time.Duration {
	if h.total == 0 {
		return 0
	}
	want := max(uint64(math.Ceil(q*float64(h.total))), 1)
	var seen uint64
	for i, n := range h.counts {
		if seen += n; seen >= want {
			middle := float64(finest) * math.Exp2((float64(i)+0.5)/perOctave)
			return min(max(time.Duration(middle), h.min), h.max)
		}
	}
	return h.max
}
