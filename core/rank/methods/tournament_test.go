package methods

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/rank"
)

func TestDeal(t *testing.T) {
	for _, tt := range []struct {
		n, size int
		want    []int // members of each group
	}{
		{8, 2, []int{2, 2, 2, 2}}, {7, 2, []int{3, 2, 2}}, {3, 2, []int{3}}, {2, 2, []int{2}},
		{9, 4, []int{5, 4}}, {7, 4, []int{7}}, {3, 4, []int{3}}, {11, 3, []int{4, 4, 3}},
	} {
		cs := make([]*rank.Candidate, tt.n)
		for i := range cs {
			cs[i] = &rank.Candidate{ID: fmt.Sprint(i)}
		}
		groups := deal(cs, tt.size)
		var got []int
		for k, group := range groups {
			got = append(got, len(group))
			for i, c := range group {
				if c != cs[i*len(groups)+k] {
					t.Errorf("%d in groups of %d: group %d has %s at place %d, not dealt in turn", tt.n, tt.size, k, c.ID, i)
				}
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%d in groups of %d: %v, want %v", tt.n, tt.size, got, tt.want)
		}
	}
	for n := 2; n < 40; n++ {
		for size := 2; size < 12; size++ {
			for _, group := range deal(make([]*rank.Candidate, n), size) {
				if len(group) < 2 {
					t.Errorf("%d in groups of %d: a group of %d", n, size, len(group))
				}
			}
		}
	}
}

func TestTournamentChampionIsTheBest(t *testing.T) {
	for _, options := range []string{``, `, "group_size": 4, "k_win": 2`, `, "group_size": 3, "k_win": 1`, `, "group_size": 5, "k_win": 4`} {
		m := method(t, `{"name": "tournament", "repeats": 1`+options+`}`)
		for n := 2; n <= 17; n++ {
			res, _ := score(t, m, &oracle{}, rank.Spec{Step: n}, ascending(n), nil)
			if best := res.Rewards[n-1]; best < 0.999 || slices.Max(res.Rewards[:n-1]) >= best {
				t.Errorf("%s, %d responses: the best has reward %v of %v", options, n, best, res.Rewards)
			}
		}
	}
}

func TestTournamentScores(t *testing.T) {
	spec := rank.Spec{}
	for name, tt := range map[string]struct {
		options string
		group   []rank.Response
		want    []float64 // sorted
	}{
		// Four in pairs: the best wins twice, the other finalist once.
		"one repeat":       {`"repeats": 1`, ascending(4), []float64{0, 0, 0.5, 1}},
		"weights":          {`"repeats": 1, "round_weights": [1, 3]`, ascending(4), []float64{0, 0, 0.25, 1}},
		"last weight":      {`"repeats": 1, "round_weights": [2]`, ascending(4), []float64{0, 0, 0.5, 1}},
		"nothing played":   {`"k_final": 4, "k_win": 1`, ascending(4), []float64{0.5, 0.5, 0.5, 0.5}},
		"two, many times":  {`"repeats": 5`, ascending(2), []float64{0, 1}},
		"all the same":     {``, responsesOf("x q=1", "x q=1", "x q=1"), []float64{0.5, 0.5, 0.5}},
		"empty ones lose":  {`"repeats": 1`, append(ascending(2), rank.Response{}), []float64{0, 0, 1}},
		"one and an empty": {``, append(ascending(1), rank.Response{}), []float64{0, 0.5}},
	} {
		res, _ := score(t, method(t, `{"name": "tournament"`+join(tt.options)+`}`), &oracle{}, spec, tt.group, nil)
		got := slices.Sorted(slices.Values(res.Rewards))
		if !slices.EqualFunc(got, tt.want, func(a, b float64) bool { return math.Abs(a-b) < 2e-6 }) {
			t.Errorf("%s: rewards %v, want %v", name, res.Rewards, tt.want)
		}
	}
}

// join puts a comma before options unless there are none.
func join(options string) string {
	if options == "" {
		return ""
	}
	return ", " + options
}

// Every step and repeat draws its own groups, and a re-run the same ones.
func TestTournamentDraws(t *testing.T) {
	draw := func(step int, repeats string) []string {
		c := &court{}
		score(t, method(t, `{"name": "tournament", "repeats": `+repeats+`}`), c, rank.Spec{Step: step}, ascending(8), nil)
		var pairs []string
		for _, h := range c.Heard {
			pairs = append(pairs, fmt.Sprint(h.Body))
		}
		slices.Sort(pairs)
		return slices.Compact(pairs)
	}
	if a, b := draw(1, "1"), draw(1, "1"); !slices.Equal(a, b) {
		t.Errorf("the same step draws %v, then %v", a, b)
	}
	if a, b := draw(1, "1"), draw(2, "1"); slices.Equal(a, b) {
		t.Errorf("two steps draw the same groups: %v", a)
	}
	if once, thrice := draw(1, "1"), draw(1, "3"); len(thrice) < len(once)+3 {
		t.Errorf("three repeats show %d different groups, one shows %d", len(thrice), len(once))
	}
}

// A repeat in which a call failed counts for nothing; the others stand.
func TestTournamentDropsAFailedRepeat(t *testing.T) {
	m := method(t, `{"name": "tournament", "repeats": 2}`)
	group := ascending(4)
	c := &court{}
	score(t, m, c, rank.Spec{}, group, nil)
	for _, repeat := range []int64{0, 1} {
		var last string // of the repeat that is to fail: its final
		for _, h := range c.Heard {
			if *h.Seed == repeat {
				last = h.Key
			}
		}
		res, _ := score(t, m, &court{Down: func(key string) bool { return key == last }}, rank.Spec{}, group, nil)
		if res.GroupStatus != rank.Partial || res.Rewards[3] < 0.999 || res.Status[3] != rank.OK {
			t.Errorf("repeat %d failed: group %s, rewards %v", repeat, res.GroupStatus, res.Rewards)
		}
		halves := 0 // the other finalist of the one repeat left
		for _, r := range res.Rewards {
			if math.Abs(r-0.5) < 1e-6 {
				halves++
			}
		}
		if halves != 1 {
			t.Errorf("repeat %d failed: rewards %v are not those of one repeat", repeat, res.Rewards)
		}
	}
}
