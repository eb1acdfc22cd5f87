package rank

import (
	"sync"

	"github.com/rankbuffer/rankbuffer/core/buffer"
)

// placements collects coarse positions while candidates arrive.
type placements struct {
	mu sync.Mutex // guards of while coarse calls are in flight
	of map[*Candidate]int
}

func newPlacements() *placements { return &placements{of: map[*Candidate]int{}} }

func (at *placements) set(c *Candidate, p int) {
	at.mu.Lock()
	defer at.mu.Unlock()
	at.of[c] = p
}

func (at *placements) candidates() []*Candidate {
	cs := make([]*Candidate, 0, len(at.of))
	for c := range at.of {
		cs = append(cs, c)
	}
	return cs
}

// positions reports where each response was placed and how much of the initial
// scale lies below it.
func (m *RankBuffer) positions(g *Group, base *buffer.Buffer, at *placements) Outcome {
	out := Outcome{Positions: make([]*int, g.Size), Progress: make([]*float64, g.Size)}
	for c, p := range at.of {
		for _, i := range c.members {
			out.Positions[i] = &p
			if share, ok := base.Progress(p); ok {
				out.Progress[i] = &share
			}
		}
	}
	return out
}

// onScale rewards each response by its own position, -1 + 2p/K: the mean of a
// validation set then says something about progress, where group ranks average
// 0 by construction.
func onScale(g *Group, base *buffer.Buffer, at *placements) []float64 {
	k := float64(len(base.Anchors))
	return g.Spread(func(c *Candidate) float64 { return -1 + 2*float64(at.of[c])/k }, -1)
}
