package buffer

import (
	"slices"

	"github.com/rankbuffer/rankbuffer/core/fault"
)

// Options of the maintenance. The zero value grows without bound and never
// prunes.
type Options struct {
	PruneAfter  int // H: an internal anchor inactive for that many epochs goes; 0 never
	MaxAnchors  int // more than that after an update are subsampled to it; 0 no limit, else >= 2
	FreezeAfter int // anchors stay as they are once that many epochs were seen; 0 never
}

// Frozen reports whether a group of this epoch leaves the anchors alone: the
// epochs seen, this one included, are more than FreezeAfter.
func (b *Buffer) Frozen(epoch int, o Options) bool {
	if o.FreezeAfter <= 0 {
		return false
	}
	seen := len(b.Seen)
	if _, ok := findEpoch(b.Seen, epoch); !ok {
		seen++
	}
	return seen > o.FreezeAfter
}

// Update returns the buffer after the maintenance of one ranked group
// (RankBuffer, Algorithm 2). buckets are sigma_0..sigma_K: the texts of the
// rollouts between two neighbouring anchors, worst first, sigma_0 below all
// anchors and sigma_K above. The group and its epoch always count, also when
// the buffer is frozen. The only error is fault.Internal: K anchors need
// K+1 buckets.
func (b *Buffer) Update(buckets [][]string, epoch, step int, o Options) (*Buffer, error) {
	k := len(b.Anchors)
	if len(buckets) != k+1 {
		return nil, fault.New(fault.Internal, "", "%d anchors need %d buckets, got %d", k, k+1, len(buckets))
	}
	next := b.Count(epoch)
	if b.Frozen(epoch, o) {
		return next, nil
	}
	at, _ := findEpoch(next.Seen, epoch)
	marks := &next.Seen[at] // Count made this copy, nobody else has it yet

	old := slices.Clone(b.Anchors)
	pruned := make([]bool, k)
	if !marks.Observed {
		observe(old, pruned, buckets, o.PruneAfter)
		marks.Observed = true
	}
	added := additions(b, buckets, marks, epoch, step)

	// All coordinates are those before the update: an addition of bucket p goes
	// between the old anchors p-1 and p, whether or not those are pruned.
	merged := make([]Anchor, 0, k+len(buckets)+1)
	for p := range buckets {
		merged = append(merged, added[p]...)
		if p < k && !pruned[p] {
			merged = append(merged, old[p])
		}
	}
	if o.MaxAnchors > 0 && len(merged) > o.MaxAnchors {
		merged = pick(merged, Select(len(merged), o.MaxAnchors))
	}
	next.Anchors = merged
	return next, nil
}

// observe counts, once an epoch, for each internal anchor the epochs in which
// no rollout came next to it, and says which ones to prune (Algorithm 2, lines
// 3-15). The endpoints keep the buffer's range and are never counted.
func observe(anchors []Anchor, pruned []bool, buckets [][]string, pruneAfter int) {
	for i := 1; i < len(anchors)-1; i++ {
		if len(buckets[i])+len(buckets[i+1]) > 0 { // the intervals below and above
			anchors[i].Inactive = 0
			continue
		}
		anchors[i].Inactive++
		pruned[i] = pruneAfter > 0 && anchors[i].Inactive >= pruneAfter
	}
}

// additions returns the new anchors by the bucket they come from and marks the
// boundaries (Algorithm 2, lines 17-31). A text that is an anchor already, or
// was just added, is not added again; its boundary counts as expanded anyway.
func additions(b *Buffer, buckets [][]string, marks *Marks, epoch, step int) [][]Anchor {
	k := len(b.Anchors)
	known := make(map[string]bool, k)
	for _, a := range b.Anchors {
		known[a.Text] = true
	}
	added := make([][]Anchor, len(buckets))
	add := func(p int, text string, source Source) {
		if !known[text] {
			known[text] = true
			added[p] = append(added[p], Anchor{Text: text, Source: source, Epoch: epoch, Step: step})
		}
	}
	if worst := buckets[0]; len(worst) > 0 && !marks.Left {
		add(0, worst[0], Left)
		marks.Left = true
	}
	if best := buckets[k]; len(best) > 0 && !marks.Right {
		add(k, best[len(best)-1], Right)
		marks.Right = true
	}
	for p := 1; p < k; p++ {
		if n := len(buckets[p]); n >= 3 {
			add(p, buckets[p][(n+1)/2-1], Refine) // the lower median: 1-based ceil(n/2)
		}
	}
	return added
}
