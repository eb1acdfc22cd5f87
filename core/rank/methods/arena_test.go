package methods

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/rank"
)

// grading answers matches: each side is graded by its quality in either slot,
// unless grades has the two, the first of higher quality.
func grading(grades map[[2]float64][2]float64) func(judge.Request, prompt.Document) string {
	return func(_ judge.Request, d prompt.Document) string {
		if d.Kind != prompt.Match {
			return ""
		}
		a, b := qualityOf(d.Candidates[0].Body), qualityOf(d.Candidates[1].Body)
		if g, ok := grades[[2]float64{a, b}]; ok {
			return fmt.Sprintf(`{"score_a": %g, "score_b": %g}`, g[0], g[1])
		}
		if g, ok := grades[[2]float64{b, a}]; ok {
			return fmt.Sprintf(`{"score_a": %g, "score_b": %g}`, g[1], g[0])
		}
		return fmt.Sprintf(`{"score_a": %g, "score_b": %g}`, a, b)
	}
}

// Worked by hand. A grade counts twice, once for each slot order, so seed scores
// are twice the quality, the pivot's too.
func TestArenaHandWorked(t *testing.T) {
	for name, tt := range map[string]struct {
		qualities []float64
		grades    map[[2]float64][2]float64
		order     []float64 // qualities, best first
		calls     int
	}{
		// Seeds 8 7 6 5 4 3 2 1 meet as (8 1) (5 4) (7 2) (6 3). 4 upsets 5, then
		// loses to 8; 7 and 6 tie, the first-listed goes on; 7 upsets 8. The semifinal
		// losers' means are 6: (12+12+13)/3 and 4: (8+19+8)/3; those of round one
		// 5: (10+2)/2, 3: (6+6)/2, 2: 4, 1: 2, equals as they lost.
		"eight": {[]float64{3, 8, 1, 6, 4, 7, 2, 5},
			map[[2]float64][2]float64{{5, 4}: {1, 9.5}, {7, 6}: {6.5, 6.5}, {8, 7}: {2, 9}},
			[]float64{7, 8, 6, 4, 5, 3, 2, 1}, 28},
		// Places 0 7 3 4 1 6 2 5 without 5, 6 and 7: (5 2) (1 4), and 3 goes on unplayed
		// and leads round two, where it meets 5 and 4 goes on. In the final 4 is listed
		// first and so wins the tie.
		"five": {[]float64{3, 5, 1, 4, 2}, map[[2]float64][2]float64{{5, 4}: {4.5, 4.5}}, []float64{4, 5, 3, 2, 1}, 16},
		// Places 0 3 1 2 without 3: (3 2), and 1 goes straight into the final.
		"three": {[]float64{2, 3, 1}, nil, []float64{3, 1, 2}, 8},
		"two":   {[]float64{1, 2}, nil, []float64{2, 1}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			res, _ := score(t, method(t, `{"name": "arena"}`), &oracle{Say: grading(tt.grades)}, rank.Spec{}, ofQualities(tt.qualities...), nil)
			if res.Calls["match"] != tt.calls {
				t.Errorf("%d calls, want %d", res.Calls["match"], tt.calls)
			}
			n := len(tt.qualities)
			for rank, q := range tt.order {
				i := slices.Index(tt.qualities, q)
				if want := 1 - float64(rank)/float64(n-1); math.Abs(res.Rewards[i]-want) > 1e-12 {
					t.Errorf("quality %g has reward %v, want %v (rank %d)", q, res.Rewards[i], want, rank)
				}
			}
		})
	}
}

// Equal seeds keep the order of the responses.
func TestArenaSeedsAreStable(t *testing.T) {
	res, _ := score(t, method(t, `{"name": "arena"}`), &oracle{Say: func(judge.Request, prompt.Document) string {
		return `{"score_a": 5, "score_b": 5}`
	}}, rank.Spec{}, ofQualities(1, 2, 3, 4), nil)
	// Bracket (0 3) (1 2): all ties, so 0 and 1 go on and 0 wins; 3 and 2 lost first.
	if want := []float64{1, 2.0 / 3, 0, 1.0 / 3}; !slices.EqualFunc(res.Rewards, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }) {
		t.Errorf("rewards %v, want %v", res.Rewards, want)
	}
}

func TestBracket(t *testing.T) {
	for n, want := range map[int][]int{
		1: {0}, 2: {0, 1}, 3: {0, 1, 2}, 4: {0, 3, 1, 2}, 5: {0, 3, 4, 1, 2}, 6: {0, 3, 4, 1, 2, 5},
		7: {0, 3, 4, 1, 6, 2, 5}, 8: {0, 7, 3, 4, 1, 6, 2, 5},
	} {
		players := make([]*player, n)
		for i := range players {
			players[i] = &player{}
		}
		var got []int
		for _, p := range bracket(players) {
			got = append(got, slices.Index(players, p))
		}
		if !slices.Equal(got, want) {
			t.Errorf("bracket of %d is %v, want %v", n, got, want)
		}
	}
}

// The pivot is the first response that has something to judge.
func TestArenaPivot(t *testing.T) {
	group := append([]rank.Response{{Text: " "}}, ofQualities(2, 5, 4, 3)...)
	c := &court{}
	res, _ := score(t, method(t, `{"name": "arena"}`), c, rank.Spec{}, group, []int{3, 1, 4, 2, 0})
	against := 0
	for _, h := range c.Heard[:6] {
		if slices.Contains(h.Body, text(2, "")) {
			against++
		}
	}
	if against != 6 {
		t.Errorf("%d of the first 6 calls are about the first response with text, want all", against)
	}
	if res.Rewards[0] != 0 || res.Rewards[2] != 1 {
		t.Errorf("rewards %v: want 0 for the empty response and 1 for the best", res.Rewards)
	}
	if want := 1 - 3.0/4; slices.Min(res.Rewards[1:]) != want {
		t.Errorf("the last of the others has %v, want %v: the empty one ranks below it", slices.Min(res.Rewards[1:]), want)
	}
}

func TestArenaChampionIsTheBest(t *testing.T) {
	for n := 2; n <= 16; n++ {
		group := ascending(n)
		group[0], group[n-1] = group[n-1], group[0]
		res, _ := score(t, method(t, `{"name": "arena"}`), &oracle{}, rank.Spec{}, group, nil)
		if res.Rewards[0] != 1 {
			t.Errorf("%d responses: the best has reward %v", n, res.Rewards[0])
		}
	}
}

// No bracket is played, nor paid for, once a seeding match has failed.
func TestArenaStopsAtAFailedSeeding(t *testing.T) {
	o := &oracle{Fail: func(d prompt.Document) error {
		if qualityOf(d.Candidates[0].Body) == 3 {
			return errDown
		}
		return nil
	}}
	res, _ := score(t, method(t, `{"name": "arena"}`), o, rank.Spec{}, ofQualities(1, 2, 3, 4), nil)
	if len(o.Asked) != 6 || res.GroupStatus != rank.GroupFailed {
		t.Errorf("%d calls, group %s, want the 6 of the seeding and failed", len(o.Asked), res.GroupStatus)
	}
}
