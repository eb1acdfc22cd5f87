package rank

import (
	"cmp"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/reward"
)

// Options are those of every method. Embedded, its fields are the method's own
// JSON fields, and it implements all of Method but Rank.
type Options struct {
	Name         string  `json:"name"`
	FormatWeight float64 `json:"format_weight"` // lambda_fmt
	FormatCheck  string  `json:"format_check"`  // "" (none) or reward.ThinkAnswer
	Dedupe       bool    `json:"dedupe"`        // judge identical responses once
}

// Defaults returns the defaults with the given format weight: 0.2 in the
// RankBuffer paper, 1 in RRC and Tournament-GRPO.
func Defaults(name string, formatWeight float64) Options {
	return Options{Name: name, FormatWeight: formatWeight, Dedupe: true}
}

// Shared implements Method.
func (o Options) Shared() Options { return o }

// Check implements Method for methods that take any group.
func (o Options) Check(Spec) error { return nil }

// Warnings implements Method for methods without doubtful options.
func (o Options) Warnings(float64) []string { return nil }

// MaxRepeats bounds votes and repeats: more of them could only be a mistake, and
// each is a call that is paid for.
const MaxRepeats = 1000

// MaxWeight keeps every sum of rewards finite.
const MaxWeight = 1e6

// Validate implements Method. A method with options of its own calls it too.
func (o Options) Validate() error {
	return cmp.Or(fault.Within("format_weight", o.FormatWeight, 0, MaxWeight), reward.CheckFormatName(o.FormatCheck))
}
