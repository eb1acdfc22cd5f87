package methods

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
)

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
