package buffer

import (
	"errors"
	"github.com/rankbuffer/rankbuffer/core/fault"
	"strings"
	"testing"
)

// Algorithm 2 of the RankBuffer paper, worked by hand. Notation: see parse,
// split and showMarks.
func TestUpdate(t *testing.T) {
	h3 := Options{PruneAfter: 3}
	for _, c := range []struct {
		name      string
		start     string
		seen      []Marks
		buckets   string // sigma_0 | ... | sigma_K
		epoch     int
		o         Options
		want      string
		wantMarks string
	}{
		// Rule 1: inactivity.
		{name: "inactive anchors count up, endpoints never",
			start: "a b c d", buckets: "| | | |", o: h3,
			want: "a b:1 c:1 d", wantMarks: "0o"},
		{name: "a rollout just below resets",
			start: "a b:2 c:1 d", buckets: "| x | | |", o: h3,
			want: "a b c:2 d", wantMarks: "0o"},
		{name: "a rollout just above resets",
			start: "a b:2 c:1 d", buckets: "| | x | |", o: h3,
			want: "a b c d", wantMarks: "0o"},
		{name: "rollouts beyond the ends do not reset their neighbours' neighbours",
			start: "a b:1 c:1 d", seen: []Marks{{Epoch: 0, Left: true, Right: true}}, buckets: "x | | | | y", o: h3,
			want: "a b:2 c:2 d", wantMarks: "0olr"},
		{name: "pruned at exactly H",
			start: "a b:1 c:2 d", buckets: "| | | |", o: h3,
			want: "a b:2 d", wantMarks: "0o"},
		{name: "another H",
			start: "a b:1 c d", buckets: "| | | |", o: Options{PruneAfter: 2},
			want: "a c:1 d", wantMarks: "0o"},
		{name: "no H: counted, never pruned",
			start: "a b:40 c", buckets: "| | |",
			want: "a b:41 c", wantMarks: "0o"},
		{name: "several pruned at once",
			start: "a b:2 c:2 d:2 e", buckets: "| | | | |", o: h3,
			want: "a e", wantMarks: "0o"},
		{name: "observed already in this epoch: neither counted nor reset nor pruned",
			start: "a b:2 c:1 d", seen: []Marks{{Epoch: 4, Observed: true}}, buckets: "| | | x |", epoch: 4, o: h3,
			want: "a b:2 c:1 d", wantMarks: "4o"},
		{name: "observed in another epoch only",
			start: "a b:2 c:1 d", seen: []Marks{{Epoch: 3, Observed: true}}, buckets: "| | | x |", epoch: 4, o: h3,
			want: "a c d", wantMarks: "3o 4o"},
		{name: "endpoints are not pruned even with a counter from when they were internal",
			start: "a:7 b:9", buckets: "| |", o: h3,
			want: "a:7 b:9", wantMarks: "0o"},

		// Rules 2 and 3: boundaries.
		{name: "left takes the worst",
			start: "a b", buckets: "v w x | |", o: h3,
			want: "v=left a b", wantMarks: "0ol"},
		{name: "right takes the best",
			start: "a b", buckets: "| | v w x", o: h3,
			want: "a b x=right", wantMarks: "0or"},
		{name: "each boundary once an epoch",
			start: "a b", seen: []Marks{{Epoch: 1, Left: true}, {Epoch: 2, Right: true}}, buckets: "v | | w", epoch: 1, o: h3,
			want: "a b w=right", wantMarks: "1olr 2r"},
		{name: "an empty outer bucket leaves the mark for a later group",
			start: "a b", buckets: "| x |", o: h3,
			want: "a b", wantMarks: "0o"},
		{name: "the outer buckets refine nothing, however crowded",
			start: "a b", seen: []Marks{{Epoch: 0, Observed: true, Left: true, Right: true}}, buckets: "u v w || x y z", o: h3,
			want: "a b", wantMarks: "0olr"},

		// Rule 4: refinement.
		{name: "two in an interval add nothing",
			start: "a b", buckets: "| x y |", o: h3,
			want: "a b", wantMarks: "0o"},
		{name: "three: the middle one",
			start: "a b", buckets: "| x y z |", o: h3,
			want: "a y=refine b", wantMarks: "0o"},
		{name: "four: the lower median",
			start: "a b", buckets: "| w x y z |", o: h3,
			want: "a x=refine b", wantMarks: "0o"},
		{name: "every crowded interval, in any group of the epoch",
			start: "a b c", seen: []Marks{{Epoch: 0, Observed: true}}, buckets: "| p q r | s t u v w |", o: h3,
			want: "a q=refine b u=refine c", wantMarks: "0o"},

		// All at once, in coordinates of before.
		{name: "everything at once",
			start: "a b:2 c:2 d:1 e", buckets: "m n | | | | p q r | s t", o: h3,
			want: "m=left a d q=refine e t=right", wantMarks: "0olr"},
		{name: "a new endpoint does not shield the old one this time",
			start: "a b:2 c:2 d", buckets: "m | | | | z", o: h3,
			want: "m=left a d z=right", wantMarks: "0olr"},

		// Texts that are anchors already.
		{name: "left text known: skipped, boundary marked",
			start: "a b", buckets: "b x | |", o: h3,
			want: "a b", wantMarks: "0ol"},
		{name: "right text known: skipped, not replaced by the next best",
			start: "a b", buckets: "| | x a", o: h3,
			want: "a b", wantMarks: "0or"},
		{name: "median known: skipped",
			start: "a b", buckets: "| x b y |", o: h3,
			want: "a b", wantMarks: "0o"},
		{name: "known before, though pruned by this very update",
			start: "a b:2 c", buckets: "| | | b", o: h3,
			want: "a c", wantMarks: "0or"},
		{name: "a pruned anchor's text does not come back in the same update",
			start: "a b:2 c d", buckets: "b | | | x |", o: h3,
			want: "a c d", wantMarks: "0ol"},
		{name: "added earlier in the same update",
			start: "a b", buckets: "x | x x x | x", o: h3,
			want: "x=left a b", wantMarks: "0olr"},

		// Limit.
		{name: "max_anchors not exceeded",
			start: "a b c", buckets: "x | | |", o: Options{PruneAfter: 3, MaxAnchors: 4},
			want: "x=left a b:1 c", wantMarks: "0ol"},
		{name: "max_anchors exceeded: Select over the whole",
			start: "a b c d", buckets: "x | | p q r | | y", o: Options{PruneAfter: 3, MaxAnchors: 4},
			// x a b q c d y -> 0-based 0, 2, 4, 6
			want: "x=left b c y=right", wantMarks: "0olr"},
		{name: "a buffer above the limit from the start is cut as well",
			start: "a b c d e", buckets: "| x | x | x | x |", o: Options{MaxAnchors: 3},
			want: "a c e", wantMarks: "0o"},

		// Freeze.
		{name: "freeze after 1: the first epoch still updates",
			start: "a b", seen: []Marks{{Epoch: 0}}, buckets: "x | |", o: Options{PruneAfter: 3, FreezeAfter: 1},
			want: "x=left a b", wantMarks: "0ol"},
		{name: "freeze after 1: nothing in the second, which counts as seen",
			start: "a b:2 c d e", seen: []Marks{{Epoch: 0, Observed: true}}, buckets: "x | | p q r | | | y", epoch: 1, o: Options{PruneAfter: 3, MaxAnchors: 2, FreezeAfter: 1},
			want: "a b:2 c d e", wantMarks: "0o 1"},
		{name: "frozen once more epochs were seen, also for an earlier epoch",
			start: "a b", seen: []Marks{{Epoch: 0}, {Epoch: 1}}, buckets: "x | |", epoch: 0, o: Options{FreezeAfter: 1},
			want: "a b", wantMarks: "0 1"},
		{name: "freeze after 2: an epoch number says nothing, distinct epochs do",
			start: "a b", seen: []Marks{{Epoch: 7}}, buckets: "x | |", epoch: 90, o: Options{FreezeAfter: 2},
			want: "x=left a b", wantMarks: "7 90ol"},

		// Short ladders.
		{name: "one anchor",
			start: "a", buckets: "v w | x y", o: h3,
			want: "v=left a y=right", wantMarks: "0olr"},
		{name: "no anchor: one bucket is both ends",
			start: "", buckets: "v w x", o: h3,
			want: "v=left x=right", wantMarks: "0olr"},
		{name: "no anchor, one rollout: not twice",
			start: "", buckets: "v", o: h3,
			want: "v=left", wantMarks: "0olr"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := parse(c.start, c.seen...)
			b.Groups = 5
			before := dump(b)
			got := mustUpdate(t, b, split(c.buckets), c.epoch, 77, c.o)
			if show(got) != c.want || showMarks(got) != c.wantMarks {
				t.Errorf("got  %q marks %q\nwant %q marks %q", show(got), showMarks(got), c.want, c.wantMarks)
			}
			if got.Groups != 6 || got.Initial != b.Initial {
				t.Errorf("groups %d, initial %d; want 6, %d", got.Groups, got.Initial, b.Initial)
			}
			for _, a := range got.Anchors {
				if added := a.Source != Ranked; added && (a.Epoch != c.epoch || a.Step != 77 || a.Inactive != 0) {
					t.Errorf("added %+v, want epoch %d, step 77, inactive 0", a, c.epoch)
				}
			}
			if after := dump(b); after != before {
				t.Errorf("the old buffer changed:\nfrom %s\nto   %s", before, after)
			}
		})
	}
}

// An anchor that no rollout comes next to goes in the third epoch, not before,
// whatever the number of groups in between.
func TestPruneTakesThreeEpochs(t *testing.T) {
	b := New(Ranked, []string{"a", "b", "c", "d"}, 4, 0, 0)
	quiet := split("| | | x |") // resets c only
	for epoch, want := range []string{"a b:1 c d", "a b:2 c d", "a c d"} {
		for range 3 {
			if len(b.Anchors) == 4 {
				b = mustUpdate(t, b, quiet, epoch, epoch, Options{PruneAfter: 3})
			}
		}
		if show(b) != want {
			t.Fatalf("after epoch %d: %q, want %q", epoch, show(b), want)
		}
	}
}

// An endpoint that an expansion turns internal is counted from the next epoch on.
func TestOldEndpointBecomesInternal(t *testing.T) {
	o := Options{PruneAfter: 3}
	b := mustUpdate(t, parse("a b"), split("x | |"), 0, 0, o)
	for epoch, want := range []string{"x=left a b", "x=left a:1 b", "x=left a:2 b", "x=left b"} {
		b = mustUpdate(t, b, split("| | |"), epoch, 0, o)
		if show(b) != want {
			t.Errorf("epoch %d: %q, want %q", epoch, show(b), want)
		}
	}
}

func TestUpdateBucketCount(t *testing.T) {
	b := parse("a b c")
	before := dump(b)
	for _, buckets := range []string{"x", "| |", "x | | | |"} {
		got, err := b.Update(split(buckets), 0, 0, Options{})
		if !errors.Is(err, fault.Internal) || got != nil {
			t.Errorf("buckets %q: got %v, %v; want fault.Internal", buckets, got, err)
		} else if !strings.Contains(err.Error(), "3 anchors need 4 buckets") {
			t.Errorf("error %q does not say what is needed", err)
		}
	}
	if _, err := b.Update(nil, 0, 0, Options{FreezeAfter: 1}); !errors.Is(err, fault.Internal) {
		t.Errorf("nil buckets: %v, want fault.Internal", err)
	}
	if dump(b) != before {
		t.Error("a refused update changed the buffer")
	}
}
