package methods

import (
	"cmp"
	"context"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/rank"
	"github.com/rankbuffer/rankbuffer/core/rank/calls"
)

// SCR is self-competitive ranking (RRC, equation 5 and Algorithm 1): every pair
// of the group is judged, and a response is rewarded by how many of the others
// it beats, r_i = alpha * |{j : w_ij > w_ji}| with w the votes. An even split is
// a win for neither. With CARA the votes are first made into a consistent order
// and the reward is alpha times the number of responses ranked below.
//
// The paper's Algorithm 1 would break equal win counts by sorting; its equation
// 5 rewards them equally, and so does this. Where comparisons failed, a
// response's wins among the completed ones are scaled up to all of them.
//
// Rewards of n responses lie in [0, alpha (n-1)]. One round; votes n(n-1)/2
// calls for n distinct responses, twice that with both orders.
type SCR struct {
	calls.Pairing
	Aggregate string  `json:"aggregate"` // wins or cara
	Alpha     float64 `json:"alpha"`
}

func newSCR() rank.Method {
	return &SCR{Pairing: calls.PairDefaults("scr", 1), Aggregate: "wins", Alpha: 0.1}
}

// Validate implements rank.Method.
func (m *SCR) Validate() error {
	return cmp.Or(fault.OneOf("aggregate", m.Aggregate, "wins", "cara"), checkAlpha(m.Alpha), m.Pairing.Validate())
}

// Rank implements rank.Method.
func (m *SCR) Rank(ctx context.Context, g *rank.Group) (rank.Outcome, error) {
	if g.Validate || g.Size == 1 {
		return g.Unranked(ctx, 0)
	}
	st, err := m.RoundRobin(ctx, g, calls.Winner(prompt.Pair))
	if err != nil {
		return rank.Outcome{}, err
	}
	outranked := winsIn(st)
	if m.Aggregate == "cara" {
		outranked = caraBelow(st)
	}
	return rank.Outcome{Rewards: g.Spread(func(c *rank.Candidate) float64 { return m.Alpha * outranked(c) }, 0)}, nil
}

// winsIn returns how many responses a candidate beats.
func winsIn(st calls.Standings) func(*rank.Candidate) float64 {
	return func(c *rank.Candidate) float64 {
		r := st.Record(c)
		if r.Missing == 0 || r.Completed() == 0 {
			return r.Wins
		}
		return r.Wins * (r.Completed() + r.Missing) / r.Completed()
	}
}
