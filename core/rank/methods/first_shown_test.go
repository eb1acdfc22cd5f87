package methods

import (
	"math"
	"slices"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/rank"
)

// comparing are the kinds of call that show several candidates in random order.
var comparing = []prompt.Kind{prompt.Pair, prompt.Preference, prompt.Reasoned, prompt.Match, prompt.Select, prompt.Fine}

// biased prefers whatever stands first, in every way it can be asked; log-
// probabilities stay the oracle's.
func biased(_ judge.Request, d prompt.Document) string {
	switch d.Kind {
	case prompt.Pair, prompt.Reasoned:
		return `{"winner": "A"}`
	case prompt.Match:
		return `{"score_a": 1, "score_b": 0}`
	case prompt.Select:
		winners := make([]int, d.Winners)
		for i := range winners {
			winners[i] = i
		}
		return `{"winners": ` + mustJSON(winners) + `}`
	case prompt.Fine:
		order := make([]int, len(d.Candidates))
		for i := range order {
			order[i] = len(order) - 1 - i
		}
		return `{"order": ` + mustJSON(order) + `}`
	}
	return ""
}

func TestSuiteFirstShown(t *testing.T) {
	everyMethod(t, func(t *testing.T, want trait) {
		m := want.method(t)
		res, _ := score(t, m, &oracle{Say: biased}, suiteSpec(), ascending(8), nil)
		compared := slices.ContainsFunc(comparing, func(k prompt.Kind) bool { return res.Calls[string(k)] > 0 })
		if (res.FirstShown != nil) != compared {
			t.Fatalf("calls %v, first shown %v: want it where candidates were compared", res.Calls, res.FirstShown)
		}
		if prc, ok := m.(*PRC); !compared || ok && prc.Aggregate == "soft" { // asks for probabilities
			return
		}
		if f := res.FirstShown; f.Wins != float64(f.Comparisons) {
			t.Errorf("the first shown always wins, counted are %v of %d", f.Wins, f.Comparisons)
		}
	})
}

// Over many groups a fair judge has the first one shown win half the time, and
// exactly half where every pair is judged in both orders.
func TestFirstShownOfAFairJudge(t *testing.T) {
	for _, options := range []string{
		`"name": "scr"`, `"name": "pairwise", "votes": 3`, `"name": "agr"`, `"name": "prc"`, `"name": "listwise"`,
		`"name": "tournament"`, `"name": "tournament", "group_size": 4, "k_win": 3`,
		`"name": "rankbuffer"`, `"name": "rankbuffer", "init": "bootstrap"`,
	} {
		var wins, comparisons float64
		for step := range 300 {
			spec := suiteSpec()
			spec.Step = step
			res, _ := score(t, method(t, `{`+options+`}`), &oracle{}, spec, ascending(8), nil)
			if f := res.FirstShown; f != nil {
				wins += f.Wins
				comparisons += float64(f.Comparisons)
			}
		}
		if share := wins / comparisons; comparisons < 300 || math.Abs(share-0.5) > 0.05 {
			t.Errorf("%s: the first one shown won %.3f of %v comparisons, want half", options, share, comparisons)
		}
	}
	for options, calls := range map[string]int{
		`"name": "scr", "both_orders": true`:                          12,
		`"name": "winrate", "both_orders": true`:                      12,
		`"name": "agr", "both_orders": true`:                          56,
		`"name": "arena"`:                                             12,
		`"name": "prc", "both_orders": true, "votes": 3`:              24,
		`"name": "agr", "both_orders": true, "votes": 3`:              168,
		`"name": "scr", "both_orders": true, "votes": 3`:              36,
		`"name": "prc", "both_orders": true`:                          8,
		`"name": "pairwise", "both_orders": true`:                     12,
		`"name": "prc", "aggregate": "majority", "both_orders": true`: 8,
	} {
		res, _ := score(t, method(t, `{`+options+`}`), &oracle{}, suiteSpec(), ascending(4), nil)
		if f := res.FirstShown; f == nil || f.Comparisons != calls || f.Wins != float64(calls)/2 {
			t.Errorf("%s: first shown %+v, want half of %d", options, f, calls)
		}
	}
}

// A failed call compared nothing.
func TestFirstShownLeavesFailuresOut(t *testing.T) {
	res, _ := score(t, method(t, `{"name": "scr"}`), &oracle{Fail: pairDown(1, 2)}, rank.Spec{}, ofQualities(1, 2, 3, 4), nil)
	if f := res.FirstShown; f == nil || f.Comparisons != 5 {
		t.Errorf("first shown %+v, want 5 comparisons of 6", f)
	}
}
