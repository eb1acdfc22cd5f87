package methods

import (
	"context"
	"maps"
	"slices"

	"github.com/rankbuffer/rankbuffer/core/buffer"
	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/verdict"
	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/rank"
	"github.com/rankbuffer/rankbuffer/core/rank/calls"
)

// placements are the coarse positions of the candidates that did not fail: for
// each the number of anchors that the judge finds strictly worse (equation 6).
type placements map[*rank.Candidate]int

// coarse places every candidate as it arrives.
func (m *RankBuffer) coarse(ctx context.Context, g *rank.Group, base *buffer.Buffer) (placements, error) {
	kind, anchors := prompt.Coarse, base.Texts()
	if m.OrderOnly {
		kind = prompt.CoarseOrder
	}
	return calls.Evaluate(ctx, g, func(ctx context.Context, c *rank.Candidate) (int, error) {
		return rank.Ask(ctx, g, kind, prompt.Vars{Anchors: anchors, Candidates: []string{c.Text}}, nil,
			func(r judge.Reply) (int, error) { return verdict.Position(r.Text, len(anchors)) })
	})
}

// buckets are C_0..C_K (equation 7), each in presentation order.
func (at placements) buckets(g *rank.Group, base *buffer.Buffer) [][]*rank.Candidate {
	buckets := make([][]*rank.Candidate, len(base.Anchors)+1)
	for _, c := range g.Present(slices.Collect(maps.Keys(at)), "fine") {
		buckets[at[c]] = append(buckets[at[c]], c)
	}
	return buckets
}

// outcome reports where each response was placed and what share of the initial
// anchors lies below it.
func (at placements) outcome(g *rank.Group, base *buffer.Buffer) rank.Outcome {
	out := rank.Outcome{Positions: make([]*int, g.Size), Progress: make([]*float64, g.Size)}
	for c, p := range at {
		for _, i := range c.Members {
			out.Positions[i] = &p
			if share, ok := base.Progress(p); ok {
				out.Progress[i] = &share
			}
		}
	}
	return out
}

// rewards rewards each response by its own position, -1 + 2p/K: the mean of a
// validation set then says something about progress, where group ranks average
// 0 by construction.
func (at placements) rewards(g *rank.Group, base *buffer.Buffer) []float64 {
	k := float64(len(base.Anchors))
	return g.Spread(func(c *rank.Candidate) float64 { return -1 + 2*float64(at[c])/k }, -1)
}
