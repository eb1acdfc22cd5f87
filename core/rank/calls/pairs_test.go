package calls_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/rank"
)

func TestVotesAlternateSlotsAndDifferInSeed(t *testing.T) {
	c := &court{}
	score(t, method(t, `{"name": "scr", "votes": 4}`), c, rank.Spec{Seed: 40}, ascending(2), nil)
	if len(c.Heard) != 4 {
		t.Fatalf("%d calls, want 4", len(c.Heard))
	}
	bySeed := map[int64]string{}
	for _, h := range c.Heard {
		bySeed[*h.Seed] = h.Body[0]
	}
	if len(bySeed) != 4 || bySeed[40] != bySeed[42] || bySeed[41] != bySeed[43] || bySeed[40] == bySeed[41] {
		t.Errorf("in slot A by seed: %v, want seeds 40 to 43 in turn", bySeed)
	}
}

func TestBothOrdersShowEveryVoteTwice(t *testing.T) {
	c := &court{}
	score(t, method(t, `{"name": "scr", "votes": 2, "both_orders": true}`), c, rank.Spec{}, ascending(2), nil)
	shown := map[string]int{}
	for _, h := range c.Heard {
		shown[fmt.Sprint(*h.Seed, h.Body)]++
	}
	if len(c.Heard) != 4 || len(shown) != 4 {
		t.Errorf("%d calls, %v: want each vote in each order", len(c.Heard), shown)
	}
}

// A single vote keeps the judge's own seed, and who is shown first is a coin
// toss that does not depend on the order of the responses.
func TestSlotsAreRandomisedByContent(t *testing.T) {
	first := 0
	for step := range 400 {
		group := ascending(2)
		c := &court{}
		score(t, method(t, `{"name": "scr"}`), c, rank.Spec{Step: step}, group, nil)
		swapped := &court{}
		score(t, method(t, `{"name": "scr"}`), swapped, rank.Spec{Step: step}, []rank.Response{group[1], group[0]}, nil)
		if c.Heard[0].Key != swapped.Heard[0].Key || c.Heard[0].Seed != nil {
			t.Fatalf("step %d: asked %v, with the responses swapped %v", step, c.Heard[0], swapped.Heard[0])
		}
		if c.Heard[0].Body[0] == group[0].Text {
			first++
		}
	}
	if first < 150 || first > 250 {
		t.Errorf("of 400 steps %d show the same response first, want about half", first)
	}
}

// A judge that always prefers the first one shown says nothing: with both orders
// every pair is a tie, and so is an even number of votes.
func TestASplitIsATie(t *testing.T) {
	for options, want := range map[string][]float64{
		`"name": "scr", "both_orders": true`:                          {0, 0, 0},
		`"name": "scr", "votes": 2`:                                   {0, 0, 0},
		`"name": "scr", "votes": 3, "both_orders": true`:              {0, 0, 0},
		`"name": "scr", "both_orders": true, "aggregate": "cara"`:     {0.2, 0.1, 0}, // the lower index wins
		`"name": "winrate", "both_orders": true`:                      {0.5, 0.5, 0.5},
		`"name": "pairwise", "both_orders": true`:                     {1, 1, 1}, // all share the best rank
		`"name": "agr", "both_orders": true`:                          {0.7, 0.7, 0.7},
		`"name": "prc", "both_orders": true, "aggregate": "majority"`: {0.5, 0.5, 0.5},
	} {
		res, _ := score(t, method(t, `{`+options+`}`), &oracle{Say: firstShown}, suiteSpec(), ascending(3), nil)
		if !slices.EqualFunc(res.Rewards, want, near) {
			t.Errorf("%s: rewards %v, want %v", options, res.Rewards, want)
		}
	}
}

func TestVotesThatFailAreLeftOut(t *testing.T) {
	m := method(t, `{"name": "scr", "votes": 3}`)
	c := &court{}
	score(t, m, c, rank.Spec{}, ascending(2), nil)
	for _, h := range c.Heard {
		res, _ := score(t, m, &court{Down: func(key string) bool { return key == h.Key }}, rank.Spec{}, ascending(2), nil)
		if !slices.EqualFunc(res.Rewards, []float64{0, 0.1}, near) || res.GroupStatus != rank.Partial {
			t.Errorf("vote %d failed: rewards %v, group %s", *h.Seed, res.Rewards, res.GroupStatus)
		}
	}
}

func TestWarnings(t *testing.T) {
	for options, want := range map[string]map[float64]bool{
		`"name": "scr"`:                                      {0: false, 1: false},
		`"name": "scr", "votes": 2`:                          {0: false},
		`"name": "scr", "votes": 3`:                          {0: true, 0.7: false},
		`"name": "agr", "votes": 2, "both_orders": true`:     {0: true, 0.7: false},
		`"name": "prc", "votes": 8, "aggregate": "majority"`: {0: true},
		`"name": "tournament", "repeats": 5`:                 {0: false},
		`"name": "rankbuffer"`:                               {0: false},
	} {
		for temperature, warned := range want {
			if got := method(t, `{`+options+`}`).Warnings(temperature); (len(got) > 0) != warned || warned && !strings.Contains(got[0], "votes") {
				t.Errorf("%s at temperature %v: warnings %q, want some: %t", options, temperature, got, warned)
			}
		}
	}
}
