package methods

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/rank"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-12 }

// firstShown prefers whatever stands in slot A.
func firstShown(judge.Request, prompt.Document) string { return `{"winner": "A"}` }

// verdicts answers pairs by a table: "1>2" makes quality 1 beat quality 2 in any
// slot; other pairs go by quality.
func verdicts(upsets ...string) func(judge.Request, prompt.Document) string {
	return func(_ judge.Request, d prompt.Document) string {
		if d.Kind != prompt.Pair {
			return ""
		}
		a, b := qualityOf(d.Candidates[0].Body), qualityOf(d.Candidates[1].Body)
		for _, u := range upsets {
			switch u {
			case fmt.Sprintf("%g>%g", a, b):
				return `{"winner": "A"}`
			case fmt.Sprintf("%g>%g", b, a):
				return `{"winner": "B"}`
			}
		}
		return ""
	}
}

// pairDown fails every call about two qualities.
func pairDown(x, y float64) func(prompt.Document) error {
	return func(d prompt.Document) error {
		if len(d.Candidates) != 2 {
			return nil
		}
		a, b := qualityOf(d.Candidates[0].Body), qualityOf(d.Candidates[1].Body)
		if a == x && b == y || a == y && b == x {
			return errDown
		}
		return nil
	}
}

func TestVotesAlternateSlotsAndDifferInSeed(t *testing.T) {
	c := &court{}
	score(t, method(t, `{"name": "scr", "votes": 4}`), c, rank.Spec{Seed: 40}, ladder(2), nil)
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
	score(t, method(t, `{"name": "scr", "votes": 2, "both_orders": true}`), c, rank.Spec{}, ladder(2), nil)
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
		group := ladder(2)
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
		res, _ := score(t, method(t, `{`+options+`}`), &oracle{Say: firstShown}, suiteSpec(), ladder(3), nil)
		if !slices.EqualFunc(res.Rewards, want, near) {
			t.Errorf("%s: rewards %v, want %v", options, res.Rewards, want)
		}
	}
}

func TestVotesThatFailAreLeftOut(t *testing.T) {
	m := method(t, `{"name": "scr", "votes": 3}`)
	c := &court{}
	score(t, m, c, rank.Spec{}, ladder(2), nil)
	for _, h := range c.Heard {
		res, _ := score(t, m, &court{Down: func(key string) bool { return key == h.Key }}, rank.Spec{}, ladder(2), nil)
		if !slices.EqualFunc(res.Rewards, []float64{0, 0.1}, near) || res.GroupStatus != rank.Partial {
			t.Errorf("vote %d failed: rewards %v, group %s", *h.Seed, res.Rewards, res.GroupStatus)
		}
	}
}

func TestSCR(t *testing.T) {
	for name, tt := range map[string]struct {
		options string
		judge   *oracle
		want    []float64
	}{
		"wins":               {``, &oracle{}, []float64{0, 0.1, 0.2, 0.3}},
		"alpha":              {`"alpha": 2`, &oracle{}, []float64{0, 2, 4, 6}},
		"cara":               {`"aggregate": "cara"`, &oracle{}, []float64{0, 0.1, 0.2, 0.3}},
		"a cycle of three":   {``, &oracle{Say: verdicts("2>4")}, []float64{0, 0.2, 0.2, 0.2}},
		"cara, same margins": {`"aggregate": "cara"`, &oracle{Say: verdicts("2>4")}, []float64{0, 0.2, 0.3, 0.1}}, // 3 > 2 > 4
		// One of three comparisons of 3 and of 4 is missing: 3 won both others, 4 too.
		"a pair failed": {``, &oracle{Fail: pairDown(3, 4)}, []float64{0, 0.1, 0.3, 0.3}},
		// Nothing else says which of 3 and 4 is better: half a place each.
		"cara, a pair failed":        {`"aggregate": "cara"`, &oracle{Fail: pairDown(3, 4)}, []float64{0, 0.1, 0.25, 0.25}},
		"cara, decided by others":    {`"aggregate": "cara"`, &oracle{Fail: pairDown(2, 4)}, []float64{0, 0.1, 0.2, 0.3}},
		"a lost pair is no loss":     {``, &oracle{Fail: pairDown(1, 2)}, []float64{0, 0, 0.2, 0.3}},
		"won all that was completed": {``, &oracle{Fail: pairDown(1, 4)}, []float64{0, 0.1, 0.2, 0.3}},
	} {
		res, _ := score(t, method(t, `{"name": "scr"`+join(tt.options)+`}`), tt.judge, rank.Spec{}, ofQualities(1, 2, 3, 4), nil)
		if !slices.EqualFunc(res.Rewards, tt.want, near) {
			t.Errorf("%s: rewards %v, want %v", name, res.Rewards, tt.want)
		}
	}
}

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

func TestPairwiseRank(t *testing.T) {
	for name, tt := range map[string]struct {
		judge *oracle
		want  []float64
	}{
		"ranks":           {&oracle{}, []float64{-1, -1.0 / 3, 1.0 / 3, 1}},
		"1, 1, 1, 4":      {&oracle{Say: verdicts("2>4")}, []float64{-1, 1, 1, 1}},
		"1, 1, 3, 4":      {&oracle{Fail: pairDown(3, 4)}, []float64{-1, -1.0 / 3, 1, 1}},
		"rates, not wins": {&oracle{Fail: pairDown(1, 3)}, []float64{-1, -1.0 / 3, 1.0 / 3, 1}}, // 0/2, 1/3, 1/2, 3/3
	} {
		res, _ := score(t, method(t, `{"name": "pairwise"}`), tt.judge, rank.Spec{}, ofQualities(1, 2, 3, 4), nil)
		if !slices.EqualFunc(res.Rewards, tt.want, near) {
			t.Errorf("%s: rewards %v, want %v", name, res.Rewards, tt.want)
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
