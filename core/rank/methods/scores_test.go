package methods

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/query"
	"github.com/rankbuffer/rankbuffer/core/rank"
)

// byRubric scores a text "x q=1 a=7" with 7 on the rubric whose text holds "a".
func byRubric(_ judge.Request, d prompt.Document) string {
	body := d.Candidates[0].Body
	for _, field := range strings.Fields(body) {
		name, value, found := strings.Cut(field, "=")
		if found && name != "q" && strings.Contains(d.Rubrics, name+"-ness") {
			return fmt.Sprintf(`{"score": %s}`, value)
		}
	}
	return ""
}

func rubricSpec() rank.Spec {
	q := testQuery()
	q.Rubrics = []query.Rubric{{Text: "Its a-ness.", Weight: 3}, {Text: "Its b-ness.", Weight: 1}}
	return rank.Spec{Query: q}
}

func rubricGroup() []rank.Response {
	return responsesOf("a=10 b=0 q=1", "a=4 b=0 q=1", "a=1 b=0 q=1", "")
}

func TestExplicit(t *testing.T) {
	for options, want := range map[string][]float64{
		``:            {0.75, 0.3, 0.075, 0},
		`"scale": 10`: {7.5, 3, 0.75, 0},
	} {
		res, _ := score(t, method(t, `{"name": "explicit"`+join(options)+`}`), &oracle{Say: byRubric}, rubricSpec(), rubricGroup(), nil)
		if !slices.EqualFunc(res.Rewards, want, near) || res.Calls["rubric_score"] != 6 {
			t.Errorf("%s: rewards %v in %v calls, want %v in 6", options, res.Rewards, res.Calls, want)
		}
	}
}

func TestImplicitAndPointwise(t *testing.T) {
	for name, want := range map[string][]float64{
		"implicit":  {0.2, 1, 0.7, 0},
		"pointwise": {-0.6, 1, 0.4, -1},
	} {
		res, _ := score(t, method(t, `{"name": "`+name+`"}`), &oracle{}, rank.Spec{}, append(ofQualities(2, 12, 7), rank.Response{}), nil)
		if !slices.EqualFunc(res.Rewards, want, near) {
			t.Errorf("%s: rewards %v, want %v", name, res.Rewards, want)
		}
	}
	res, _ := score(t, method(t, `{"name": "pointwise", "rank_transform": true}`), &oracle{}, rank.Spec{}, append(ofQualities(2, 12, 7, 7.5), rank.Response{}), nil)
	if want := []float64{-0.5, 1, 0.25, 0.25, -1}; !slices.EqualFunc(res.Rewards, want, near) {
		t.Errorf("rank transform: rewards %v, want %v", res.Rewards, want)
	}
}

// Scores on rubric a are 10, 4, 1 and 0 of an empty response: mean 3.75, sample
// variance 20.25. On b all score 0, which says nothing.
func TestGDPO(t *testing.T) {
	res, _ := score(t, method(t, `{"name": "gdpo"}`), &oracle{Say: byRubric}, rubricSpec(), rubricGroup(), nil)
	for i, a := range []float64{10, 4, 1, 0} {
		if want := 3.0 / 4 * (a - 3.75) / 4.5; math.Abs(res.Rewards[i]-want) > 1e-6 {
			t.Errorf("reward %d is %v, want %v", i, res.Rewards[i], want)
		}
	}
	detail, err := json.Marshal(res.Detail)
	if want := `{"rubric_scores":[[10,0],[4,0],[1,0],null]}`; err != nil || string(detail) != want {
		t.Errorf("detail %s, want %s", detail, want)
	}

	spec := rubricSpec()
	spec.Validate = true
	res, _ = score(t, method(t, `{"name": "gdpo"}`), &oracle{Say: byRubric}, spec, rubricGroup(), nil)
	if want := []float64{0.75, 0.3, 0.075, 0}; !slices.EqualFunc(res.Rewards, want, near) {
		t.Errorf("validation: rewards %v, want %v", res.Rewards, want)
	}
}

// Where one rubric outshouts the others on the raw scale, normalising lets each
// count by its weight.
func TestGDPOWeighsRubricsNotTheirSpread(t *testing.T) {
	group := responsesOf("a=10 b=1 q=1", "a=1 b=2 q=1")
	spec := rubricSpec()
	spec.Query.Rubrics[1].Weight = 4
	res, _ := score(t, method(t, `{"name": "gdpo"}`), &oracle{Say: byRubric}, spec, group, nil)
	if res.Rewards[0] >= res.Rewards[1] {
		t.Errorf("rewards %v: b has the larger weight", res.Rewards)
	}
}

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
	score(t, method(t, `{"name": "listwise", "repeats": 4}`), c, rank.Spec{}, ladder(8), nil)
	shown := map[string]bool{}
	for _, h := range c.Heard {
		shown[fmt.Sprint(h.Body)] = true
	}
	if len(shown) != 4 {
		t.Errorf("%d different orders in 4 repeats", len(shown))
	}
}
