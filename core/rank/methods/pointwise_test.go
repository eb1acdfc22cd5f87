package methods

import (
	"slices"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/rank"
)

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
