package methods

import (
	"math"

	"github.com/rankbuffer/rankbuffer/core/fault"
)

// checkAlpha checks the option alpha of SCR and AGR, the reward of one win.
func checkAlpha(alpha float64) error {
	if !(alpha > 0) || math.IsInf(alpha, 0) {
		return fault.New(fault.InvalidValue, "alpha", "need a finite number above 0, got %v", alpha)
	}
	return nil
}

// scale is the option of Implicit and Explicit: the reward of a perfect response,
// 1 or 10.
type scale int

func (s scale) check() error {
	if s != 1 && s != 10 {
		return fault.New(fault.InvalidValue, "scale", "need 1 (rewards from 0 to 1) or 10 (from 0 to 10), got %d", s)
	}
	return nil
}

// of puts a score of 0 to 10 on the scale.
func (s scale) of(score float64) float64 {
	if s == 1 {
		return score / 10
	}
	return score
}
