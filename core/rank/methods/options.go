package methods

import (
	"math"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/rank"
)

// checkAlpha checks the option alpha of SCR and AGR, the reward of one win.
func checkAlpha(alpha float64) error {
	if !(alpha > 0) || math.IsInf(alpha, 0) {
		return fault.New(fault.InvalidValue, "alpha", "need a finite number above 0, got %v", alpha)
	}
	return nil
}

// Scaled holds the options of Implicit and Explicit.
type Scaled struct {
	rank.Options
	Scale int `json:"scale"` // the reward of a perfect response: 1 or 10
}

// Validate implements rank.Method.
func (m *Scaled) Validate() error {
	if m.Scale != 1 && m.Scale != 10 {
		return fault.New(fault.InvalidValue, "scale", "need 1 (rewards from 0 to 1) or 10 (from 0 to 10), got %d", m.Scale)
	}
	return m.Options.Validate()
}

// reward is what a score of 0 to 10 is worth.
func (m *Scaled) reward(score float64) float64 {
	if m.Scale == 1 {
		return score / 10
	}
	return score
}
