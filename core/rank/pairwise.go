package rank

import (
	"context"

	"github.com/rankbuffer/rankbuffer/core/prompt"
)

// Pairwise judges every pair and rewards the rank of the win rate (RankBuffer,
// Appendix E): among the n non-empty responses, sorted by the share of their
// completed comparisons that they won, equal shares taking the best rank s they
// fill (1, 1, 3), r = 2(n - s)/(n-1) - 1; 0 when n = 1. Empty responses lose
// every comparison without a call and are worth -1.
//
// Rewards lie in [-1, 1]. One round; votes n(n-1)/2 calls for n distinct
// responses, twice that with both orders.
type Pairwise struct{ Pairing }

func newPairwise() Method { return &Pairwise{pairing("pairwise", 0.2)} }

// Rank implements Method.
func (m *Pairwise) Rank(ctx context.Context, g *Group) (Outcome, error) {
	if g.Validate || g.Size == 1 {
		return unranked(ctx, g, -1)
	}
	st, err := m.roundRobin(ctx, g, "pairwise", winnerBy(prompt.Pair))
	if err != nil {
		return Outcome{}, err
	}
	rates := map[*Candidate]float64{}
	n := 0.0
	for _, c := range st.players {
		if !g.Failed(c) {
			rates[c] = st.winRate(c)
			n += c.size()
		}
	}
	return Outcome{Rewards: g.Spread(func(c *Candidate) float64 {
		if n <= 1 {
			return 0
		}
		s := 1.0 // rank, 1 = best
		for other, rate := range rates {
			if rate > rates[c] {
				s += other.size()
			}
		}
		return 2*(n-s)/(n-1) - 1
	}, -1)}, nil
}
