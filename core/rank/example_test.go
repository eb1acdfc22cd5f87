package rank_test

import (
	"context"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/verdict"
	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/rank"
	"github.com/rankbuffer/rankbuffer/tests/ranktest"
)

// Champion rewards one response: a single call names the best, which gets 1, the
// others 0. Rewards lie in [0, 1]. One round; one call.
type Champion struct{ rank.Options }

func newChampion() rank.Method { return &Champion{rank.Defaults("champion", 0.2)} }

// Rank implements rank.Method.
func (m *Champion) Rank(ctx context.Context, g *rank.Group) (rank.Outcome, error) {
	if g.Validate || g.Size == 1 {
		return g.Unranked(ctx, 0) // nothing to compare with
	}
	cs, err := g.All(ctx)
	if err != nil {
		return rank.Outcome{}, err
	}
	if len(cs) < 2 { // empty responses aside, all are the same
		return rank.Outcome{Rewards: g.Spread(func(*rank.Candidate) float64 { return 1 }, 0)}, nil
	}
	shown := g.Present(cs, "champion")
	best, err := rank.Ask(ctx, g, prompt.Select, prompt.Vars{Candidates: rank.Texts(shown), Winners: 1}, nil,
		func(r judge.Reply) ([]int, error) { return verdict.Winners(r.Text, len(shown), 1) })
	if err != nil {
		return g.Neutralised(cs, 0, err), nil // every reward depends on this call
	}
	if best[0] == 0 { // shown first and better than all others
		g.FirstWon(float64(len(shown)-1), len(shown)-1)
	} else {
		g.FirstWon(0, 1)
	}
	return rank.Outcome{Rewards: g.Spread(func(c *rank.Candidate) float64 {
		if c == shown[best[0]] {
			return 1
		}
		return 0
	}, 0)}, nil
}

func TestChampion(t *testing.T) {
	group := ranktest.Responses(ranktest.Text(3, "a"), ranktest.Text(9, "b"), "")
	res, _ := ranktest.Score(t, newChampion(), &ranktest.Oracle{}, rank.Spec{}, group, []int{2, 1, 0})
	if res.Rewards[0] != 0 || res.Rewards[1] != 1 || res.Rewards[2] != 0 {
		t.Errorf("rewards %v, want the second alone rewarded", res.Rewards)
	}
	down := &ranktest.Court{Down: func(string) bool { return true }}
	res, _ = ranktest.Score(t, newChampion(), down, rank.Spec{}, group, nil)
	if res.GroupStatus != rank.GroupFailed || res.Error != "select call: the judge is down" {
		t.Errorf("group %s, error %q", res.GroupStatus, res.Error)
	}
}
