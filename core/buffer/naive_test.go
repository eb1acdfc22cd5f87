package buffer

import (
	"fmt"
	"math/rand"
	"slices"
	"sort"
	"testing"

	"github.com/rankbuffer/rankbuffer/tests/proptest"
)

// naive is Algorithm 2 written a second time, as literally as it can be read:
// a mutable buffer, 1-based indices, a set of (coordinate, anchor) pairs that
// is sorted at the end, one set of epochs per mark.
type naive struct {
	a                           []Anchor
	observed, left, right, seen map[int]bool
	groups                      int
}

func newNaive(b *Buffer) *naive {
	n := &naive{
		a: slices.Clone(b.Anchors), groups: b.Groups,
		observed: map[int]bool{}, left: map[int]bool{}, right: map[int]bool{}, seen: map[int]bool{},
	}
	for _, m := range b.Seen {
		n.seen[m.Epoch] = true
		if m.Observed {
			n.observed[m.Epoch] = true
		}
		if m.Left {
			n.left[m.Epoch] = true
		}
		if m.Right {
			n.right[m.Epoch] = true
		}
	}
	return n
}

func (n *naive) update(sigma [][]string, e, step int, o Options) {
	n.groups++
	n.seen[e] = true
	if o.FreezeAfter > 0 && len(n.seen) > o.FreezeAfter {
		return
	}
	type pair struct {
		at float64
		a  Anchor
	}
	K := len(n.a)
	h := func(k int) *int { return &n.a[k-1].Inactive }
	texts := map[string]bool{}
	for _, a := range n.a {
		texts[a.Text] = true
	}
	P := map[int]bool{}
	if !n.observed[e] {
		for k := 2; k <= K-1; k++ {
			if len(sigma[k-1])+len(sigma[k]) > 0 {
				*h(k) = 0
			} else {
				*h(k)++
			}
			if o.PruneAfter > 0 && *h(k) >= o.PruneAfter {
				P[k] = true
			}
		}
		n.observed[e] = true
	}
	var M []pair
	for k := 1; k <= K; k++ {
		if !P[k] {
			M = append(M, pair{float64(k), n.a[k-1]})
		}
	}
	add := func(at float64, text string, source Source) {
		if texts[text] {
			return
		}
		texts[text] = true
		M = append(M, pair{at, Anchor{Text: text, Source: source, Epoch: e, Step: step}})
	}
	if len(sigma[0]) > 0 && !n.left[e] {
		add(0.5, sigma[0][0], Left)
		n.left[e] = true
	}
	if len(sigma[K]) > 0 && !n.right[e] {
		add(float64(K)+0.5, sigma[K][len(sigma[K])-1], Right)
		n.right[e] = true
	}
	for p := 1; p <= K-1; p++ {
		if c := len(sigma[p]); c >= 3 {
			j := c / 2 // ceil(c/2), 1-based
			if c%2 == 1 {
				j++
			}
			add(float64(p)+0.5, sigma[p][j-1], Refine)
		}
	}
	sort.SliceStable(M, func(i, j int) bool { return M[i].at < M[j].at })
	n.a = nil
	for _, m := range M {
		n.a = append(n.a, m.a)
	}
	if m := o.MaxAnchors; m > 0 && len(n.a) > m {
		var kept []Anchor
		for i := 0; i < m; i++ {
			exact := float64(i) * float64(len(n.a)-1) / float64(m-1)
			kept = append(kept, n.a[int(exact+0.5)])
		}
		n.a = kept
	}
}

func (n *naive) marks() []Marks {
	var epochs []int
	for e := range n.seen {
		epochs = append(epochs, e)
	}
	sort.Ints(epochs)
	var out []Marks
	for _, e := range epochs {
		out = append(out, Marks{Epoch: e, Observed: n.observed[e], Left: n.left[e], Right: n.right[e]})
	}
	return out
}

// randomBuckets deals a group of rollouts over k+1 intervals, lumpily, so that
// crowded and empty ones both occur. Some rollouts are copies of anchors.
func randomBuckets(r *rand.Rand, b *Buffer, id *int) [][]string {
	k := len(b.Anchors)
	buckets := make([][]string, k+1)
	used := map[string]bool{}
	focus := r.Intn(k + 1)
	for range r.Intn(12) {
		*id++
		text := fmt.Sprintf("r%d", *id)
		if k > 0 && r.Intn(5) == 0 {
			text = b.Anchors[r.Intn(k)].Text
		}
		if used[text] {
			continue
		}
		used[text] = true
		p := focus
		if r.Intn(2) == 0 {
			p = r.Intn(k + 1)
		}
		buckets[p] = append(buckets[p], text)
	}
	return buckets
}

func TestUpdateAgainstNaiveModel(t *testing.T) {
	r := rand.New(rand.NewSource(proptest.Seed(t)))
	id := 0
	for run := range 200 {
		o := Options{PruneAfter: r.Intn(5)}
		if r.Intn(2) == 0 {
			o.MaxAnchors = 2 + r.Intn(9)
		}
		if r.Intn(4) == 0 {
			o.FreezeAfter = 1 + r.Intn(4)
		}
		var texts []string
		for range r.Intn(9) {
			id++
			texts = append(texts, fmt.Sprintf("a%d", id))
		}
		source := []Source{Ranked, Bootstrap}[r.Intn(2)]
		b := New(source, texts, 2+r.Intn(6), r.Intn(3), 0)
		n := newNaive(b)
		for step := range 30 {
			epoch := step/3 - r.Intn(2) // mostly forward, sometimes back
			buckets := randomBuckets(r, b, &id)
			before := dump(b)
			next := mustUpdate(t, b, buckets, epoch, step, o)
			n.update(buckets, epoch, step, o)
			if !slices.Equal(next.Anchors, n.a) || !slices.Equal(next.Seen, n.marks()) || next.Groups != n.groups {
				t.Fatalf("run %d step %d, options %+v\nbefore %s\nbuckets %v epoch %d\ngot  %s\nwant %+v %+v", run, step, o, before, buckets, epoch, dump(next), n.a, n.marks())
			}
			if after := dump(b); after != before {
				t.Fatalf("run %d step %d: the old buffer changed:\nfrom %s\nto   %s", run, step, before, after)
			}
			checkInvariants(t, b, next, o, epoch)
			b = next
		}
	}
}

// checkInvariants holds what must be true of any update, stated without the
// algorithm.
func checkInvariants(t *testing.T, b, next *Buffer, o Options, epoch int) {
	t.Helper()
	if o.MaxAnchors > 0 && !b.Frozen(epoch, o) && len(next.Anchors) > o.MaxAnchors {
		t.Fatalf("%d anchors, more than max_anchors %d", len(next.Anchors), o.MaxAnchors)
	}
	place := map[string]int{}
	for i, a := range next.Anchors {
		if _, twice := place[a.Text]; twice {
			t.Fatalf("%q is an anchor twice", a.Text)
		}
		place[a.Text] = i
	}
	last := -1 // anchors that stay keep their order
	for _, a := range b.Anchors {
		if i, ok := place[a.Text]; ok {
			if i < last {
				t.Fatalf("%q changed its place among the anchors that stay", a.Text)
			}
			last = i
		}
	}
	if k := len(b.Anchors); k > 0 && o.MaxAnchors == 0 {
		for _, end := range []Anchor{b.Anchors[0], b.Anchors[k-1]} {
			if _, ok := place[end.Text]; !ok {
				t.Fatalf("endpoint %q was pruned", end.Text)
			}
		}
	}
}
