package rank

import (
	"context"
	"fmt"
	"math"

	"github.com/rankbuffer/rankbuffer/core/prompt"
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
	Pairing
	Aggregate string  `json:"aggregate"` // wins or cara
	Alpha     float64 `json:"alpha"`
}

func newSCR() Method {
	return &SCR{Pairing: pairing("scr", 1), Aggregate: "wins", Alpha: 0.1}
}

func (m *SCR) validate() error {
	if m.Aggregate != "wins" && m.Aggregate != "cara" {
		return fmt.Errorf("aggregate: %q is not one of wins, cara", m.Aggregate)
	}
	if err := checkAlpha(m.Alpha); err != nil {
		return err
	}
	return m.Pairing.validate()
}

func checkAlpha(alpha float64) error {
	if !(alpha > 0) || math.IsInf(alpha, 0) {
		return fmt.Errorf("alpha: %v is not a finite number above 0", alpha)
	}
	return nil
}

// Rank implements Method.
func (m *SCR) Rank(ctx context.Context, g *Group) (Outcome, error) {
	if g.Validate || g.Size == 1 {
		return unranked(ctx, g, 0)
	}
	st, err := m.roundRobin(ctx, g, "scr", winnerBy(prompt.Pair))
	if err != nil {
		return Outcome{}, err
	}
	outranked := st.wins
	if m.Aggregate == "cara" {
		outranked = st.caraBelow()
	}
	return Outcome{Rewards: g.Spread(func(c *Candidate) float64 { return m.Alpha * outranked(c) }, 0)}, nil
}

// wins is how many responses the candidate beats.
func (st standings) wins(c *Candidate) float64 {
	r := st.record(c)
	if r.missing == 0 || r.completed() == 0 {
		return r.wins
	}
	return r.wins * (r.completed() + r.missing) / r.completed()
}
