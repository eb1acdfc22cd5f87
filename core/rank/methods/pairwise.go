package methods

import (
	"context"

	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/rank"
	"github.com/rankbuffer/rankbuffer/core/rank/calls"
)

// Pairwise judges every pair and rewards the rank of the win rate (RankBuffer,
// Appendix E): among the n non-empty responses, sorted by the share of their
// completed comparisons that they won, equal shares taking the best rank s they
// fill (1, 1, 3), r = 2(n - s)/(n-1) - 1; 0 when n = 1. Empty responses lose
// every comparison without a call and are worth -1.
//
// Rewards lie in [-1, 1]. One round; votes n(n-1)/2 calls for n distinct
// responses, twice that with both orders.
type Pairwise struct{ calls.Pairing }

func newPairwise() rank.Method { return &Pairwise{calls.PairDefaults("pairwise", 0.2)} }

// Rank implements rank.Method.
func (m *Pairwise) Rank(ctx context.Context, g *rank.Group) (rank.Outcome, error) {
	if g.Validate || g.Size == 1 {
		return g.Unranked(ctx, -1)
	}
	st, err := m.RoundRobin(ctx, g, calls.Winner(prompt.Pair))
	if err != nil {
		return rank.Outcome{}, err
	}
	rates := map[*rank.Candidate]float64{}
	n := 0.0
	for _, c := range st.Players {
		if !g.Failed(c) {
			rates[c] = st.WinRate(c)
			n += c.Size()
		}
	}
	return rank.Outcome{Rewards: g.Spread(func(c *rank.Candidate) float64 {
		if n <= 1 {
			return 0
		}
		s := 1.0 // rank, 1 = best
		for other, rate := range rates {
			if rate > rates[c] {
				s += other.Size()
			}
		}
		return 2*(n-s)/(n-1) - 1
	}, -1)}, nil
}
