package rank

import (
	"fmt"

	"github.com/rankbuffer/rankbuffer/core/reward"
)

// Common holds the options of every method. Embedded, its fields are the
// method's own JSON fields.
type Common struct {
	Name         string  `json:"name"`
	FormatWeight float64 `json:"format_weight"` // lambda_fmt
	FormatCheck  string  `json:"format_check"`  // "" (none) or reward.ThinkAnswer
	Dedupe       bool    `json:"dedupe"`        // judge identical responses once
}

// common returns the defaults with the given format weight: 0.2 in the
// RankBuffer paper, 1 in RRC and Tournament-GRPO.
func common(name string, formatWeight float64) Common {
	return Common{Name: name, FormatWeight: formatWeight, Dedupe: true}
}

// Shared implements Method for everything that embeds Common.
func (c Common) Shared() Common { return c }

// Check implements Method for methods that take any group.
func (c Common) Check(Spec) error { return nil }

// maxRepeats bounds votes and repeats: more of them could only be a mistake, and
// each is a call that is paid for.
const maxRepeats = 1000

// maxWeight keeps every sum of rewards finite.
const maxWeight = 1e6

func (c Common) validate() error {
	switch {
	case c.FormatWeight < 0:
		return fmt.Errorf("format_weight: %v is below 0, it would reward bad format", c.FormatWeight)
	case !(c.FormatWeight <= maxWeight):
		return fmt.Errorf("format_weight: %v is not a number within 0..%g", c.FormatWeight, maxWeight)
	}
	return reward.CheckFormatName(c.FormatCheck)
}
