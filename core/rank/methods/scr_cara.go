package methods

import (
	"cmp"
	"math"
	"slices"

	"github.com/rankbuffer/rankbuffer/core/rank"
	"github.com/rankbuffer/rankbuffer/core/rank/calls"
)

// Conflict-aware ranking adjustment (RRC, Algorithm 1, lines 18 to 29) turns
// votes that may contradict each other into one order. It takes the pairs by
// the size of their majority and fixes each in its majority's direction unless
// what was fixed before already decides it, through others if need be: a
// direction that would close a cycle is never added. Where the majorities hold
// no cycle all of them are kept, which is a Kemeny order (least total weight of
// votes against it); where they do, this is the greedy approximation of one
// (Davenport and Kalagnanam, 2004), not always the least.

// cara returns above[i][j], whether i ranks above j. votes[i][j] are those of i
// against j. Equal majorities are taken in the order of the indices, and an even
// split puts the lower index above. A pair without votes has no direction of its
// own: it stays open unless others decide it.
func cara(votes [][]calls.Split) (above [][]bool) {
	type pair struct {
		i, j   int
		margin float64
	}
	n := len(votes)
	above = make([][]bool, n)
	var pairs []pair
	for i := range n {
		above[i] = make([]bool, n)
		for j := i + 1; j < n; j++ {
			if s := votes[i][j]; s.Done() {
				pairs = append(pairs, pair{i, j, s.A - s.B})
			}
		}
	}
	slices.SortStableFunc(pairs, func(p, q pair) int { return cmp.Compare(math.Abs(q.margin), math.Abs(p.margin)) })
	for _, p := range pairs {
		switch {
		case above[p.i][p.j] || above[p.j][p.i]:
		case p.margin >= 0:
			place(above, p.i, p.j)
		default:
			place(above, p.j, p.i)
		}
	}
	return above
}

// place puts hi above lo and closes transitively: whatever is hi or above it is
// above whatever is lo or below it.
func place(above [][]bool, hi, lo int) {
	for x := range above {
		if x != hi && !above[x][hi] {
			continue
		}
		for y := range above {
			if y == lo || above[lo][y] {
				above[x][y] = true
			}
		}
	}
}

// caraBelow returns how many responses rank below a candidate by CARA. Those
// with the same answer do not; an opponent that failed comparisons left open
// counts half.
func caraBelow(st calls.Standings) func(*rank.Candidate) float64 {
	above := cara(st.Votes)
	return func(c *rank.Candidate) float64 {
		i, below := st.Place(c), st.Empty
		for j, opponent := range st.Players {
			switch {
			case i == j || above[j][i]:
			case above[i][j]:
				below += opponent.Size()
			default:
				below += opponent.Size() / 2
			}
		}
		return below
	}
}
