package methods

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/rank"
)

func TestListwiseBorda(t *testing.T) {
	answers := map[int64][]string{ // by the request's seed: worst to best
		0: {"a q=1", "b q=1", "c q=1", "d q=1"},
		1: {"b q=1", "a q=1", "d q=1", "c q=1"},
		2: {"d q=1", "a q=1", "c q=1", "b q=1"},
	}
	o := &oracle{Say: func(req judge.Request, d prompt.Document) string {
		order := make([]int, 0, 4)
		for _, body := range answers[*req.Seed] {
			order = append(order, slices.IndexFunc(d.Candidates, func(c prompt.Text) bool { return c.Body == body }))
		}
		return `{"order": ` + mustJSON(order) + `}`
	}}
	res, _ := score(t, method(t, `{"name": "listwise", "repeats": 3}`), o, rank.Spec{}, responsesOf("a q=1", "b q=1", "c q=1", "d q=1"), nil)
	// Points: a 0+1+1, b 1+0+3, c 2+3+2, d 3+2+0.
	if want := []float64{-1, -1.0 / 3, 1, 1.0 / 3}; !slices.EqualFunc(res.Rewards, want, near) {
		t.Errorf("rewards %v, want %v", res.Rewards, want)
	}
	a, b, c := &rank.Candidate{ID: "a"}, &rank.Candidate{ID: "b"}, &rank.Candidate{ID: "c"}
	if got := borda([][]*rank.Candidate{{a, b, c}, {c, b, a}}); got[a] != 2 || got[b] != 2 || got[c] != 2 {
		t.Errorf("opposite orders give %v, want all equal", got)
	}
}

// Repeats show the responses in different orders.
func TestListwiseRepeatsShowOtherOrders(t *testing.T) {
	c := &court{}
	score(t, method(t, `{"name": "listwise", "repeats": 4}`), c, rank.Spec{}, ascending(8), nil)
	shown := map[string]bool{}
	for _, h := range c.Heard {
		shown[fmt.Sprint(h.Body)] = true
	}
	if len(shown) != 4 {
		t.Errorf("%d different orders in 4 repeats", len(shown))
	}
}
