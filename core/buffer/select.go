package buffer

// Select returns the 0-based indices of an endpoint-preserving uniform
// subsample of k out of n ordered items, ascending: round_half_up(i(n-1)/(k-1))
// for i = 0..k-1 (RankBuffer, Appendix H). A k above n takes all n; a k below 2
// counts as 2, for a buffer needs both ends.
func Select(n, k int) []int {
	k = min(max(k, 2), n)
	if k <= 0 {
		return nil
	}
	picked := make([]int, k)
	for i := range picked {
		if i > 0 { // k = 1 (n = 1) has no interval to divide
			picked[i] = (2*i*(n-1) + k - 1) / (2 * (k - 1)) // round half up, in integers
		}
	}
	return picked
}

// pick returns the items at the given indices, in that order.
func pick[T any](items []T, at []int) []T {
	out := make([]T, len(at))
	for i, j := range at {
		out[i] = items[j]
	}
	return out
}

// distinct drops every text that stood earlier in the list.
func distinct(texts []string) []string {
	seen := make(map[string]bool, len(texts))
	out := make([]string, 0, len(texts))
	for _, text := range texts {
		if !seen[text] {
			seen[text] = true
			out = append(out, text)
		}
	}
	return out
}
