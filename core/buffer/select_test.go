package buffer

import (
	"math"
	"slices"
	"testing"
)

// The anchor subsets printed in the RankBuffer paper, Appendix H, as 0-based
// indices from worst to best.
func TestSelectPaper(t *testing.T) {
	for _, c := range []struct {
		n, k int
		want []int
	}{
		{7, 2, []int{0, 6}},
		{7, 4, []int{0, 2, 4, 6}},
		{7, 7, []int{0, 1, 2, 3, 4, 5, 6}},
		{8, 2, []int{0, 7}},
		{8, 4, []int{0, 2, 5, 7}},
		{8, 7, []int{0, 1, 2, 4, 5, 6, 7}},
	} {
		if got := Select(c.n, c.k); !slices.Equal(got, c.want) {
			t.Errorf("Select(%d, %d) = %v, want %v", c.n, c.k, got, c.want)
		}
	}
}

func TestSelectEdges(t *testing.T) {
	for _, c := range []struct {
		n, k int
		want []int
	}{
		{0, 4, nil},
		{1, 4, []int{0}},
		{2, 4, []int{0, 1}},
		{3, 9, []int{0, 1, 2}},
		{6, 1, []int{0, 5}},
		{6, -3, []int{0, 5}},
		{4, 3, []int{0, 2, 3}}, // 1.5 rounds up
	} {
		if got := Select(c.n, c.k); !slices.Equal(got, c.want) {
			t.Errorf("Select(%d, %d) = %v, want %v", c.n, c.k, got, c.want)
		}
	}
}

func TestSelectProperties(t *testing.T) {
	for n := 2; n <= 60; n++ {
		for k := 2; k <= n; k++ {
			got := Select(n, k)
			if len(got) != k || got[0] != 0 || got[k-1] != n-1 {
				t.Fatalf("Select(%d, %d) = %v: want %d indices with both ends", n, k, got, k)
			}
			for i := 1; i < k; i++ {
				if got[i] <= got[i-1] {
					t.Fatalf("Select(%d, %d) = %v: not ascending", n, k, got)
				}
				exact := float64(i) * float64(n-1) / float64(k-1)
				if math.Abs(float64(got[i])-exact) > 0.5+1e-9 {
					t.Fatalf("Select(%d, %d)[%d] = %d, but the exact place is %v", n, k, i, got[i], exact)
				}
			}
		}
	}
}
