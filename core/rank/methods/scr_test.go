package methods

import (
	"slices"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/rank"
)

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
