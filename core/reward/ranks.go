package reward

import (
	"cmp"
	"slices"
)

// Ranks gives each value its 0-based position in ascending order (0 = smallest);
// equal values share the average of the positions they fill.
func Ranks(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	ranks := make([]float64, len(values))
	for lo := 0; lo < len(order); {
		hi := lo + 1
		for hi < len(order) && values[order[hi]] == values[order[lo]] {
			hi++
		}
		for _, i := range order[lo:hi] {
			ranks[i] = float64(lo+hi-1) / 2
		}
		lo = hi
	}
	return ranks
}
