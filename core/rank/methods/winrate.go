package methods

import (
	"context"

	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/rank"
	"github.com/rankbuffer/rankbuffer/core/rank/calls"
)

// WinRate judges every pair and rewards the share of them that a response won,
// r_i = w_i/(n-1) (Tournament-GRPO, pairwise comparison). A tie is half a win;
// responses with the same answer tie, and empty ones lose, without a call. Where
// comparisons failed, the share is that of the completed ones.
//
// Rewards lie in [0, 1]. One round; votes n(n-1)/2 calls for n distinct
// responses, twice that with both orders.
type WinRate struct{ calls.Pairing }

func newWinRate() rank.Method { return &WinRate{calls.PairDefaults("winrate", 1)} }

// Rank implements rank.Method.
func (m *WinRate) Rank(ctx context.Context, g *rank.Group) (rank.Outcome, error) {
	if g.Validate || g.Size == 1 {
		return g.Unranked(ctx, 0)
	}
	st, err := m.RoundRobin(ctx, g, calls.Winner(prompt.Pair))
	if err != nil {
		return rank.Outcome{}, err
	}
	return rank.Outcome{Rewards: g.Spread(st.WinRate, 0)}, nil
}
