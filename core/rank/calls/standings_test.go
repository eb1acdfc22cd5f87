package calls_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/rank"
)

// Empty responses lose to all others; identical ones win against neither.
func TestWinsCountResponses(t *testing.T) {
	group := append(ofQualities(1, 2, 2, 3), rank.Response{}, rank.Response{Text: " "})
	for options, want := range map[string][]float64{
		`"name": "scr"`:                      {0.2, 0.3, 0.3, 0.5, 0, 0},
		`"name": "scr", "aggregate": "cara"`: {0.2, 0.3, 0.3, 0.5, 0, 0},
		`"name": "winrate"`:                  {0.4, 0.7, 0.7, 1, 0, 0},
		`"name": "pairwise"`:                 {-1, 1.0 / 3, 1.0 / 3, 1, -1, -1}, // ranks 4, 2, 2, 1 of 4
	} {
		res, _ := score(t, method(t, `{`+options+`}`), &oracle{}, rank.Spec{}, group, nil)
		if !slices.EqualFunc(res.Rewards, want, near) {
			t.Errorf("%s: rewards %v, want %v", options, res.Rewards, want)
		}
		if !slices.Equal(res.Ranks[1:3], []float64{3.5, 3.5}) {
			t.Errorf("%s: identical responses have ranks %v, want 3.5", options, res.Ranks[1:3])
		}
	}
}

// A response all of whose pairs failed has failed; the others are ranked without
// it.
func TestAResponseWithoutAPairHasFailed(t *testing.T) {
	for _, name := range []string{"scr", "pairwise", "winrate"} {
		o := &oracle{Fail: func(d prompt.Document) error {
			if strings.HasSuffix(d.Candidates[0].Body+d.Candidates[1].Body, "q=2") || qualityOf(d.Candidates[0].Body) == 2 {
				return errDown
			}
			return nil
		}}
		res, _ := score(t, method(t, `{"name": "`+name+`"}`), o, rank.Spec{}, ofQualities(1, 2, 3, 4), nil)
		if want := []rank.Status{rank.OK, rank.JudgeFailed, rank.OK, rank.OK}; !slices.Equal(res.Status, want) || res.GroupStatus != rank.Partial {
			t.Errorf("%s: status %v %s, want %v partial", name, res.Status, res.GroupStatus, want)
		}
		if !near(res.Advantages[1], 0) || !(res.Rewards[0] < res.Rewards[2] && res.Rewards[2] < res.Rewards[3]) {
			t.Errorf("%s: rewards %v, advantages %v", name, res.Rewards, res.Advantages)
		}
	}
}
