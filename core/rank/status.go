package rank

import (
	"slices"

	"github.com/rankbuffer/rankbuffer/core/judge"
)

// Status says how a response or a group ended.
type Status string

// Statuses of a response. A group is OK, Partial or GroupFailed.
const (
	OK          Status = "ok"
	Empty       Status = "empty"      // no text, or no answer after its reasoning
	Ineligible  Status = "ineligible" // marked so by the caller; treated as empty
	JudgeFailed        = Status(judge.Failed)
	Timeout            = Status(judge.TimedOut) // also a sibling that never came
	Truncated          = Status(judge.Truncated)
	Cancelled          = Status(judge.Cancelled)

	Partial     Status = "partial"
	GroupFailed Status = "failed"
)

// severity orders failures, so that a response with several reports the same
// one however its calls interleave.
var severity = []Status{JudgeFailed, Truncated, Timeout, Cancelled}

func worse(a, b Status) Status {
	if slices.Index(severity, a) > slices.Index(severity, b) {
		return a
	}
	return b
}

// Failed reports whether the status means that no reward could be found.
func (s Status) Failed() bool { return slices.Contains(severity, s) }
