package methods

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/rank"
)

// The query's ranked responses have qualities 1 to 7.
func TestAGR(t *testing.T) {
	group := ofQualities(0.5, 3.5, 9)
	group = append(group, rank.Response{Text: text(4, "ranked")}, rank.Response{}) // an anchor itself, and nothing
	for name, tt := range map[string]struct {
		options string
		judge   *oracle
		want    []float64
		calls   int
	}{
		"all":           {``, &oracle{}, []float64{0, 0.3, 0.7, 0.4, 0}, 3*7 + 6},
		"alpha":         {`"alpha": 1`, &oracle{}, []float64{0, 3, 7, 4, 0}, 27},
		"votes":         {`"votes": 2`, &oracle{}, []float64{0, 0.3, 0.7, 0.4, 0}, 54},
		"binary":        {`"search": "binary"`, &oracle{}, []float64{0, 0.3, 0.7, 0.4, 0}, 3 * 3},
		"binary, votes": {`"search": "binary", "votes": 3`, &oracle{}, []float64{0, 0.3, 0.7, 0.4, 0}, 27},
		"own anchors":   {`"anchors": ["x q=8", "x q=3"]`, &oracle{}, []float64{0, 0.1, 0.2, 0.1, 0}, 8},
		// 3.5 beat 2 of the 6 anchors that remain: scaled to 7.
		"a pair failed": {``, &oracle{Fail: pairDown(3.5, 2)}, []float64{0, 0.1 * 2 * 7 / 6, 0.7, 0.4, 0}, 27},
	} {
		res, _ := score(t, method(t, `{"name": "agr"`+join(tt.options)+`}`), tt.judge, rank.Spec{}, group, nil)
		if !slices.EqualFunc(res.Rewards, tt.want, near) {
			t.Errorf("%s: rewards %v, want %v", name, res.Rewards, tt.want)
		}
		if res.Calls["pair"] != tt.calls {
			t.Errorf("%s: %d calls, want %d", name, res.Calls["pair"], tt.calls)
		}
	}
}

// At least half the votes beat an anchor; here the two votes of every pair are
// split.
func TestAGREvenSplitCountsAsBeaten(t *testing.T) {
	res, _ := score(t, method(t, `{"name": "agr", "votes": 2}`), &oracle{Say: firstShown}, rank.Spec{}, ofQualities(1.5, 2.5), nil)
	if !slices.EqualFunc(res.Rewards, []float64{0.7, 0.7}, near) {
		t.Errorf("rewards %v, want all anchors beaten", res.Rewards)
	}
}

// Insertion agrees with comparing everywhere and takes ceil(log2(n+1)) calls at
// most.
func TestAGRBinaryInsertion(t *testing.T) {
	for n := 1; n <= 20; n++ {
		anchors := make([]string, n)
		for k := range anchors {
			anchors[k] = text(float64(n-k), "anchor") // best first
		}
		m := method(t, fmt.Sprintf(`{"name": "agr", "alpha": 1, "search": "binary", "anchors": %s}`, mustJSON(anchors)))
		for beaten := range n + 1 {
			o := &oracle{}
			res, _ := score(t, m, o, rank.Spec{}, ofQualities(float64(beaten)+0.5), nil)
			if most := log2ceil(n + 1); res.Rewards[0] != float64(beaten) || o.Calls(prompt.Pair) > most {
				t.Errorf("above %d of %d anchors: reward %v in %d calls, want at most %d", beaten, n, res.Rewards[0], o.Calls(prompt.Pair), most)
			}
		}
	}
}

// The judge sees answers only, of anchors too.
func TestAGRStripsTheAnchorsReasoning(t *testing.T) {
	c := &court{}
	res, _ := score(t, method(t, `{"name": "agr", "anchors": ["<think>hm</think>x q=3"]}`), c, rank.Spec{}, ofQualities(5), nil)
	if !slices.Contains(c.Heard[0].Body, "x q=3") || !near(res.Rewards[0], 0.1) {
		t.Errorf("shown %q, reward %v", c.Heard[0].Body, res.Rewards[0])
	}
	res, _ = score(t, method(t, `{"name": "agr", "anchors": ["<think>hm q=3"]}`), c, rank.Spec{}, ofQualities(5), nil)
	if res.GroupStatus != rank.GroupFailed || len(c.Heard) != 1 {
		t.Errorf("an anchor without an answer: group %s, %d calls", res.GroupStatus, len(c.Heard)-1)
	}
}
