// Package buffer keeps, for each query, an ordered list of anchors: responses
// of known relative quality that new rollouts are placed between. Buffers are
// immutable values (select, maintenance); Store is the locking map above them.
// Nothing here knows of judges or files.
//
// Source: RankBuffer, Algorithms 1 and 2. Orders run from worst to best.
package buffer

import "slices"

// Source says where an anchor came from.
type Source string

// The sources of an anchor.
const (
	Ranked    Source = "ranked"    // given with the query, already ranked
	Bootstrap Source = "bootstrap" // picked from the first group's listwise order
	Left      Source = "left"      // a rollout worse than every anchor
	Right     Source = "right"     // a rollout better than every anchor
	Refine    Source = "refine"    // the median of a crowded interval
	LLM       Source = "llm"       // chosen by the manager call
)

// Anchor is one response of known relative quality in a query's buffer.
type Anchor struct {
	Text     string `json:"text"`
	Source   Source `json:"source"`
	Epoch    int    `json:"epoch"`    // of the group that added it
	Step     int    `json:"step"`     // of the group that added it
	Inactive int    `json:"inactive"` // epochs in a row in which no rollout came next to it
}

// Marks says what already happened to a buffer in one epoch. Each of the three
// happens at most once an epoch.
type Marks struct {
	Epoch    int  `json:"epoch"`
	Observed bool `json:"observed,omitempty"` // inactivity was counted
	Left     bool `json:"left,omitempty"`     // the left boundary expanded
	Right    bool `json:"right,omitempty"`    // the right boundary expanded
}

// Buffer is the state of one query. It is never modified after its creation:
// every method that changes something returns a new one, and a *Buffer may be
// read from any goroutine. Its JSON has the same bytes for equal buffers.
type Buffer struct {
	Initial int      `json:"initial"`           // number of anchors it started with
	Anchors []Anchor `json:"anchors"`           // worst first, texts distinct
	Seen    []Marks  `json:"seen"`              // one per epoch seen, ascending
	Groups  int      `json:"groups"`            // groups ranked so far
	Pending *Pending `json:"pending,omitempty"` // a delayed manager call, if one is due
}

// Pending is what a delayed manager call (LLM with look-ahead) may choose from.
type Pending struct {
	Order []Placed `json:"order"` // anchors and rollouts of the ranked group, worst to best
	Keep  int      `json:"keep"`  // how many texts the manager must return
	Epoch int      `json:"epoch"` // of the ranked group
	Step  int      `json:"step"`  // of the ranked group
}

// Placed is one text of a combined order.
type Placed struct {
	Text   string `json:"text"`
	Anchor bool   `json:"anchor"` // an anchor, else a rollout
}

// New starts a buffer from texts ordered worst first: Select of k0 of them. A
// text that occurs twice counts once, at its worst place. A Bootstrap start
// comes from a ranked group, which counts and whose epoch is seen; a Ranked
// start comes from the data, and no group was ranked yet.
func New(source Source, texts []string, k0, epoch, step int) *Buffer {
	texts = distinct(texts)
	texts = pick(texts, Select(len(texts), k0))
	b := &Buffer{Initial: len(texts), Anchors: make([]Anchor, len(texts)), Seen: []Marks{}}
	for i, text := range texts {
		b.Anchors[i] = Anchor{Text: text, Source: source, Epoch: epoch, Step: step}
	}
	if source == Bootstrap {
		return b.Count(epoch)
	}
	return b
}

// Count returns the buffer after a ranked group that changes no anchor: one
// group more, its epoch seen. A pending manager call stays.
func (b *Buffer) Count(epoch int) *Buffer {
	next := *b
	next.Groups++
	next.Seen, _ = see(b.Seen, epoch)
	return &next
}

// Replace returns the buffer the manager call chose, texts ordered worst first.
// A text that is an anchor now keeps its fields, another one gets source llm
// and the given epoch and step; a text that occurs twice counts once, at its
// worst place. It counts no group (see Count) and ends what was pending.
func (b *Buffer) Replace(texts []string, epoch, step int) *Buffer {
	known := make(map[string]Anchor, len(b.Anchors))
	for _, a := range b.Anchors {
		known[a.Text] = a
	}
	texts = distinct(texts)
	next := *b
	next.Pending = nil
	next.Anchors = make([]Anchor, len(texts))
	for i, text := range texts {
		a, ok := known[text]
		if !ok {
			a = Anchor{Text: text, Source: LLM, Epoch: epoch, Step: step}
		}
		next.Anchors[i] = a
	}
	return &next
}

// WithPending returns the same buffer with p, or nothing if p is nil, as its
// delayed manager call.
func (b *Buffer) WithPending(p *Pending) *Buffer {
	next := *b
	next.Pending = p
	return &next
}

// Progress returns the share (0..1) of the initial anchors still in the buffer
// (source ranked or bootstrap) that lie below a response at position 0..K, the
// number of anchors worse than it. It is false when no initial anchor is left.
func (b *Buffer) Progress(position int) (float64, bool) {
	below, all := 0, 0
	for i, a := range b.Anchors {
		if a.Source != Ranked && a.Source != Bootstrap {
			continue
		}
		all++
		if i < position {
			below++
		}
	}
	if all == 0 {
		return 0, false
	}
	return float64(below) / float64(all), true
}

// Texts returns the anchors' texts, worst first.
func (b *Buffer) Texts() []string {
	texts := make([]string, len(b.Anchors))
	for i, a := range b.Anchors {
		texts[i] = a.Text
	}
	return texts
}

// see returns a copy of seen that has an entry for the epoch, and where.
func see(seen []Marks, epoch int) ([]Marks, int) {
	i, ok := findEpoch(seen, epoch)
	if ok {
		return slices.Clone(seen), i
	}
	out := make([]Marks, 0, len(seen)+1)
	out = append(out, seen[:i]...)
	out = append(out, Marks{Epoch: epoch})
	return append(out, seen[i:]...), i
}

func findEpoch(seen []Marks, epoch int) (int, bool) {
	return slices.BinarySearchFunc(seen, epoch, func(m Marks, e int) int {
		switch {
		case m.Epoch < e:
			return -1
		case m.Epoch > e:
			return 1
		}
		return 0
	})
}
