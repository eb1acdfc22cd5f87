package methods

import (
	"slices"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/rank"
)

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
