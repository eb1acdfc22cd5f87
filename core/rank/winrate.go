package rank

import (
	"context"

	"github.com/rankbuffer/rankbuffer/core/prompt"
)

// WinRate judges every pair and rewards the share of them that a response won,
// r_i = w_i/(n-1) (Tournament-GRPO, pairwise comparison). A tie is half a win;
// responses with the same answer tie, and empty ones lose, without a call. Where
// comparisons failed, the share is that of the completed ones.
//
// Rewards lie in [0, 1]. One round; votes n(n-1)/2 calls for n distinct
// responses, twice that with both orders.
type WinRate struct{ Pairing }

func newWinRate() Method { return &WinRate{pairing("winrate", 1)} }

// Rank implements Method.
func (m *WinRate) Rank(ctx context.Context, g *Group) (Outcome, error) {
	if g.Validate || g.Size == 1 {
		return unranked(ctx, g, 0)
	}
	st, err := m.roundRobin(ctx, g, "winrate", winnerBy(prompt.Pair))
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{Rewards: g.Spread(st.winRate, 0)}, nil
}
