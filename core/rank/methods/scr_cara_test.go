package methods

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/rank/calls"
)

// tally is votes[i][j] of i against j, as cara reads them.
type tally [][]calls.Split

func newTally(n int) tally {
	votes := make(tally, n)
	for i := range votes {
		votes[i] = make([]calls.Split, n)
	}
	return votes
}

func (votes tally) set(i, j int, forI, forJ float64) {
	votes[i][j], votes[j][i] = calls.Split{A: forI, B: forJ}, calls.Split{A: forJ, B: forI}
}

// cost is the weight of the votes against an order, best first (RRC, equation 26).
func (votes tally) cost(order []int) float64 {
	sum := 0.0
	for a, i := range order {
		for _, j := range order[a+1:] {
			sum += votes[i][j].B
		}
	}
	return sum
}

// violated counts the strict majorities an order goes against.
func (votes tally) violated(order []int) int {
	n := 0
	for a, i := range order {
		for _, j := range order[a+1:] {
			if votes[i][j].A < votes[i][j].B {
				n++
			}
		}
	}
	return n
}

// cyclic reports whether the strict majorities hold a cycle.
func (votes tally) cyclic() bool {
	left := make([]int, len(votes))
	for i := range left {
		left[i] = i
	}
	for len(left) > 0 {
		// Take away someone nobody left beats; if there is none, there is a cycle.
		k := slices.IndexFunc(left, func(i int) bool {
			return !slices.ContainsFunc(left, func(j int) bool { return votes[j][i].A > votes[j][i].B })
		})
		if k < 0 {
			return true
		}
		left = slices.Delete(left, k, k+1)
	}
	return false
}

// kemeny searches all orders for one of least cost, by dynamic programming over
// the sets that can stand above (Held and Karp); exact.
func (votes tally) kemeny() (order []int, cost float64) {
	n := len(votes)
	least, last := make([]float64, 1<<n), make([]int, 1<<n)
	for set := 1; set < 1<<n; set++ {
		found := false
		for i := range n {
			if set>>i&1 == 0 {
				continue
			}
			// i comes last of the set: every vote for it against those above is lost.
			above := set &^ (1 << i)
			c := least[above]
			for j := range n {
				if above>>j&1 == 1 {
					c += votes[j][i].B
				}
			}
			if !found || c < least[set] {
				least[set], last[set], found = c, i, true
			}
		}
	}
	for set := 1<<n - 1; set > 0; set &^= 1 << last[set] {
		order = append(order, last[set])
	}
	slices.Reverse(order)
	return order, least[1<<n-1]
}

// permuted tries every order.
func (votes tally) permuted() float64 {
	best := -1.0
	var try func(order []int, left []int)
	try = func(order, left []int) {
		if len(left) == 0 {
			if c := votes.cost(order); best < 0 || c < best {
				best = c
			}
		}
		for k := range left {
			try(append(slices.Clone(order), left[k]), slices.Delete(slices.Clone(left), k, k+1))
		}
	}
	all := make([]int, len(votes))
	for i := range all {
		all[i] = i
	}
	try(nil, all)
	return best
}

// caraOrder is cara's order, best first; it must be a total one.
func caraOrder(t *testing.T, votes tally) []int {
	t.Helper()
	above := cara(votes)
	order, seen := make([]int, len(votes)), 0
	for i := range above {
		place := 0
		for j := range above {
			if i != j && above[i][j] == above[j][i] {
				t.Fatalf("%v: %d and %d are not ordered", votes, i, j)
			}
			if above[j][i] {
				place++
			}
		}
		order[place] = i
		seen |= 1 << place
	}
	if bits.OnesCount(uint(seen)) != len(votes) {
		t.Fatalf("%v: %v is no order", votes, above)
	}
	return order
}

// winOrder sorts by wins, equal ones by index (Algorithm 1, line 31).
func winOrder(votes tally) []int {
	order, wins := make([]int, len(votes)), make([]int, len(votes))
	for i := range votes {
		order[i] = i
		for j := range votes {
			if votes[i][j].A > votes[i][j].B {
				wins[i]++
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return wins[b] - wins[a] })
	return order
}

// everyTally calls f with every way the pairs of n can go: each won by either
// side with one vote, or evenly calls.Split if even is set.
func everyTally(n int, even bool, f func(tally)) {
	outcomes := []calls.Split{{A: 1}, {B: 1}}
	if even {
		outcomes = append(outcomes, calls.Split{A: 1, B: 1})
	}
	votes := newTally(n)
	var fill func(i, j int)
	fill = func(i, j int) {
		switch {
		case i == n-1:
			f(votes)
		case j == n:
			fill(i+1, i+2)
		default:
			for _, o := range outcomes {
				votes.set(i, j, o.A, o.B)
				fill(i, j+1)
			}
		}
	}
	fill(0, 1)
}

// randomTally draws each pair's votes evenly from 0 to v for one side.
func randomTally(r *rand.Rand, n, v int) tally {
	votes := newTally(n)
	for i := range n {
		for j := i + 1; j < n; j++ {
			k := r.IntN(v + 1)
			votes.set(i, j, float64(k), float64(v-k))
		}
	}
	return votes
}

func TestKemenySearchIsExhaustive(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		votes := randomTally(r, 1+r.IntN(6), 1+r.IntN(8))
		order, cost := votes.kemeny()
		if want := votes.permuted(); cost != want || votes.cost(order) != want {
			t.Fatalf("%v: order %v costs %v, said %v, the best of all orders %v", votes, order, votes.cost(order), cost, want)
		}
	}
}

// sameAsKemeny checks what must hold where majorities do not contradict each
// other; it reports whether that was so.
func sameAsKemeny(t *testing.T, votes tally) bool {
	t.Helper()
	if votes.cyclic() {
		return false
	}
	order := caraOrder(t, votes)
	if _, least := votes.kemeny(); votes.cost(order) != least || votes.violated(order) != 0 {
		t.Fatalf("%v: CARA gives %v at cost %v against %d majorities, Kemeny %v", votes, order, votes.cost(order), votes.violated(order), least)
	}
	return true
}

func TestCARAEqualsKemenyOnAcyclicMajorities(t *testing.T) {
	for n := 1; n <= 5; n++ {
		for _, even := range []bool{false, true} {
			acyclic, all := 0, 0
			everyTally(n, even, func(votes tally) {
				all++
				if sameAsKemeny(t, votes) {
					acyclic++
				}
			})
			t.Logf("%d responses, even splits %t: %d of all %d acyclic", n, even, acyclic, all)
		}
	}
	// Few random majorities over 6 or 7 are acyclic: these follow a hidden order.
	for _, even := range []bool{false, true} {
		r := rand.New(rand.NewPCG(6, 7))
		for range 2000 {
			n := 6 + r.IntN(2)
			votes, hidden := newTally(n), r.Perm(n)
			for i := range n {
				for j := i + 1; j < n; j++ {
					v := 1 + r.IntN(8)
					if !even {
						v |= 1
					}
					k := (v+1)/2 + r.IntN(v/2+1) // half the votes at least
					if hidden[i] > hidden[j] {
						k = v - k
					}
					votes.set(i, j, float64(k), float64(v-k))
				}
			}
			if !sameAsKemeny(t, votes) {
				t.Fatalf("%v: meant to be acyclic", votes)
			}
		}
		for range 2000 {
			sameAsKemeny(t, randomTally(r, 6+r.IntN(2), 1+r.IntN(8)))
		}
	}
}

// figures compares CARA on cyclic majorities with the best order there is and
// with plain win counting.
type figures struct {
	cyclic                                                               int
	moreThanKemeny, moreThanWins, fewerThanWins                          int // majorities violated
	costlierThanKemeny, costlierThanWins, cheaperThanWins, winsNotKemeny int // weight of votes lost
}

func (f *figures) add(t *testing.T, votes tally) {
	if !votes.cyclic() {
		return
	}
	f.cyclic++
	order, wins := caraOrder(t, votes), winOrder(votes)
	best, least := votes.kemeny()
	count := func(n *int, is bool) {
		if is {
			*n++
		}
	}
	count(&f.moreThanKemeny, votes.violated(order) > votes.violated(best))
	count(&f.moreThanWins, votes.violated(order) > votes.violated(wins))
	count(&f.fewerThanWins, votes.violated(order) < votes.violated(wins))
	count(&f.costlierThanKemeny, votes.cost(order) > least)
	count(&f.costlierThanWins, votes.cost(order) > votes.cost(wins))
	count(&f.cheaperThanWins, votes.cost(order) < votes.cost(wins))
	count(&f.winsNotKemeny, votes.cost(wins) > least)
	if votes.cost(order) < least {
		t.Errorf("%v: %v beats the best order", votes, order)
	}
}

func (f figures) String() string {
	share := func(n int) string { return fmt.Sprintf("%5.1f%%", 100*float64(n)/float64(f.cyclic)) }
	return fmt.Sprintf("%5d cyclic | majorities violated: more than Kemeny %s, more than win counting %s, fewer %s"+
		" | votes lost: more than Kemeny %s, more than win counting %s, fewer %s; win counting more than Kemeny %s",
		f.cyclic, share(f.moreThanKemeny), share(f.moreThanWins), share(f.fewerThanWins),
		share(f.costlierThanKemeny), share(f.costlierThanWins), share(f.cheaperThanWins), share(f.winsNotKemeny))
}

// On cyclic majorities CARA is a heuristic. The figures are for the record; what
// is checked is that it always gives an order and never beats the best one.
func TestCARAOnCyclicMajorities(t *testing.T) {
	for n := 3; n <= 5; n++ {
		var f figures
		everyTally(n, false, func(votes tally) { f.add(t, votes) })
		t.Logf("%d responses, one vote, every tournament: %v", n, f)
	}
	for _, n := range []int{6, 7, 8} {
		for _, v := range []int{1, 3, 7, 8, 1000} {
			r := rand.New(rand.NewPCG(uint64(n), uint64(v)))
			var f figures
			for f.cyclic < 2000 {
				f.add(t, randomTally(r, n, v))
			}
			t.Logf("%d responses, %4d votes, 2000 random: %v", n, v, f)
		}
	}
}

func TestCARAHandWorked(t *testing.T) {
	for name, tt := range map[string]struct {
		n     int
		votes [][4]float64 // i, j, for i, for j
		want  []int
	}{
		"weakest link of a cycle goes":       {3, [][4]float64{{0, 1, 3, 0}, {1, 2, 3, 0}, {0, 2, 1, 2}}, []int{0, 1, 2}},
		"another link":                       {3, [][4]float64{{0, 1, 2, 1}, {1, 2, 3, 0}, {0, 2, 0, 3}}, []int{1, 2, 0}},
		"equal margins by index":             {3, [][4]float64{{0, 1, 1, 0}, {1, 2, 1, 0}, {0, 2, 0, 1}}, []int{2, 0, 1}},
		"even calls.Split, lower index wins": {2, [][4]float64{{0, 1, 1, 1}}, []int{0, 1}},
		"even calls.Split decided by others": {3, [][4]float64{{0, 1, 1, 1}, {1, 2, 2, 0}, {0, 2, 0, 2}}, []int{1, 2, 0}},
		"majorities before even splits":      {3, [][4]float64{{0, 2, 1, 1}, {0, 1, 0, 2}, {1, 2, 0, 2}}, []int{2, 1, 0}},
	} {
		votes := newTally(tt.n)
		for _, v := range tt.votes {
			votes.set(int(v[0]), int(v[1]), v[2], v[3])
		}
		if got := caraOrder(t, votes); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

func TestCARALeavesPairsWithoutVotesOpen(t *testing.T) {
	votes := newTally(3)
	votes.set(0, 1, 1, 0)
	if above := cara(votes); !above[0][1] || above[0][2] || above[2][0] || above[1][2] || above[2][1] {
		t.Errorf("%v: want only 0 above 1", above)
	}
	votes.set(1, 2, 1, 0)
	if above := cara(votes); !above[0][2] {
		t.Errorf("%v: want 0 above 2 through 1", above)
	}
}
