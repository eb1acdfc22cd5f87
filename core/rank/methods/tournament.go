package methods

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/verdict"
	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/rank"
	"github.com/rankbuffer/rankbuffer/core/reward"
)

// Tournament runs M repeats of a tournament (Tournament-GRPO, section 3). In
// each round the candidates still in are shuffled and dealt into groups; one
// call a group names its winners, who gain the round's weight w_t and go on,
// until no more than k_final are left. The scores s_i of all repeats are
// normalised within the group, r_i = (s_i - min)/(max - min + eps); 0.5 for all
// when they are equal. A repeat in which a call failed is dropped; if all are,
// the group is neutralised. An empty response scores 0 and is worth 0.
//
// Rewards lie in [0, 1]. The repeats run at once, so the number of rounds is that
// of one repeat: 3 for 8 distinct responses in groups of 2. Calls are the number
// of groups dealt: 7 M for 8 responses, groups of 2 and one finalist.
type Tournament struct {
	rank.Options
	GroupSize    int       `json:"group_size"`    // G, candidates a call compares
	KWin         int       `json:"k_win"`         // winners of a group, fewer than the group has members
	KFinal       int       `json:"k_final"`       // candidates at which a repeat ends
	Repeats      int       `json:"repeats"`       // M
	RoundWeights []float64 `json:"round_weights"` // w_1, w_2, ...; the last holds for all further rounds; null: 1
}

func newTournament() rank.Method {
	return &Tournament{Options: rank.Defaults("tournament", 1), GroupSize: 2, KWin: 1, KFinal: 1, Repeats: 3}
}

// Validate implements rank.Method.
func (m *Tournament) Validate() error {
	if err := cmp.Or(
		fault.AtLeast("group_size", m.GroupSize, 2), fault.AtLeast("k_win", m.KWin, 1), fault.AtLeast("k_final", m.KFinal, 1),
		fault.Within("repeats", m.Repeats, 1, rank.MaxRepeats), m.Options.Validate()); err != nil {
		return err
	}
	for t, w := range m.RoundWeights {
		if err := fault.Within(fmt.Sprintf("round_weights[%d]", t), w, 0, rank.MaxWeight); err != nil {
			return err
		}
	}
	switch {
	case m.KWin >= m.GroupSize:
		return fault.New(fault.InvalidValue, "k_win", "need fewer winners than group_size = %d, got %d", m.GroupSize, m.KWin)
	case m.RoundWeights == nil:
		return nil
	case len(m.RoundWeights) == 0:
		return fault.New(fault.InvalidValue, "round_weights", "the list is empty; leave it out to weigh all rounds alike")
	case slices.Max(m.RoundWeights) == 0:
		return fault.New(fault.InvalidValue, "round_weights", "all are 0, so that no win would count")
	}
	return nil
}

// Rank implements rank.Method.
func (m *Tournament) Rank(ctx context.Context, g *rank.Group) (rank.Outcome, error) {
	if g.Validate || g.Size == 1 {
		return g.Unranked(ctx, 0)
	}
	cs, err := g.All(ctx)
	if err != nil {
		return rank.Outcome{}, err
	}
	if len(cs) > 1 && len(cs) <= m.KFinal {
		g.Remark("unjudged", fmt.Sprintf("k_final = %d leaves %d distinct responses nothing to play", m.KFinal, len(cs)))
	}
	repeats, errs := make([]map[*rank.Candidate]float64, m.Repeats), make([]error, m.Repeats)
	g.Together(m.Repeats, func(r int) {
		repeats[r], errs[r] = m.play(ctx, g, cs, r)
	})
	scores := map[*rank.Candidate]float64{}
	if !slices.Contains(errs, nil) {
		return g.Neutralised(cs, 0, errs...), nil
	}
	for r, points := range repeats {
		if errs[r] != nil {
			g.FailCall(errs[r])
		}
		for c, p := range points {
			scores[c] += p
		}
	}
	return rank.Outcome{Rewards: g.Spread(normalise(cs, scores, g.CountEmpty() > 0), 0)}, nil
}

// normalise maps scores onto [0, 1] within the group.
func normalise(cs []*rank.Candidate, scores map[*rank.Candidate]float64, empties bool) func(*rank.Candidate) float64 {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, c := range cs {
		lo, hi = min(lo, scores[c]), max(hi, scores[c])
	}
	if empties { // they have won nothing
		lo = 0
	}
	if lo == hi || len(cs) == 0 {
		return func(*rank.Candidate) float64 { return 0.5 }
	}
	return func(c *rank.Candidate) float64 { return (scores[c] - lo) / (hi - lo + reward.Epsilon) }
}

// play runs one repeat and returns what each candidate has gained.
func (m *Tournament) play(ctx context.Context, g *rank.Group, in []*rank.Candidate, repeat int) (map[*rank.Candidate]float64, error) {
	points := map[*rank.Candidate]float64{}
	for round := 0; len(in) > m.KFinal; round++ {
		groups := deal(g.Present(in, fmt.Sprintf("tournament/%d/%d", repeat, round)), m.GroupSize)
		winners, errs := make([][]*rank.Candidate, len(groups)), make([]error, len(groups))
		g.Together(len(groups), func(i int) {
			winners[i], errs[i] = selectBest(ctx, g, groups[i], min(m.KWin, len(groups[i])-1), g.Repeat(repeat, m.Repeats))
		})
		if err := cmp.Or(errs...); err != nil {
			return nil, fmt.Errorf("repeat %d, round %d: %w", repeat+1, round+1, err)
		}
		in = slices.Concat(winners...)
		for _, c := range in {
			points[c] += m.weight(round)
		}
	}
	return points, nil
}

func (m *Tournament) weight(round int) float64 {
	if len(m.RoundWeights) == 0 {
		return 1
	}
	return m.RoundWeights[min(round, len(m.RoundWeights)-1)]
}

// deal deals candidates round-robin into max(1, floor(n/size)) groups: a
// remainder makes groups larger, never one of a single candidate.
func deal(cs []*rank.Candidate, size int) [][]*rank.Candidate {
	groups := make([][]*rank.Candidate, max(1, len(cs)/size))
	for i, c := range cs {
		groups[i%len(groups)] = append(groups[i%len(groups)], c)
	}
	return groups
}

// selectBest asks for the k best of a few candidates in one call.
func selectBest(ctx context.Context, g *rank.Group, shown []*rank.Candidate, k int, shape func(*judge.Request)) ([]*rank.Candidate, error) {
	winners, err := rank.Ask(ctx, g, prompt.Select, prompt.Vars{Candidates: rank.Texts(shown), Winners: k}, shape,
		func(r judge.Reply) ([]int, error) { return verdict.Winners(r.Text, len(shown), k) })
	if err != nil {
		return nil, err
	}
	// Winners are not compared with each other, nor are losers.
	if slices.Contains(winners, 0) {
		g.FirstWon(float64(len(shown)-k), len(shown)-k)
	} else {
		g.FirstWon(0, k)
	}
	return rank.Pick(shown, winners), nil
}
