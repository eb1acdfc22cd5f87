// Package rank turns a group of responses to one query into rewards. Each
// reward method is one file named after it and one row of the registry; what
// all methods share (empty and identical responses, failures, format reward,
// advantages) is done once, around them.
package rank

import (
	"context"

	"github.com/rankbuffer/rankbuffer/core/buffer"
	"github.com/rankbuffer/rankbuffer/core/query"
)

// Method is one way to reward a group. Implementations hold options only and
// are safe for concurrent use.
type Method interface {
	// Check refuses a group the method cannot judge, naming the field, before
	// any call is paid for. Responses are not known yet.
	Check(s Spec) error
	// Rank judges the group. It must not depend on the order in which responses
	// arrive. Failed calls are reported with Group.Fail and Outcome.Partial; the
	// error is for what makes the whole group meaningless (a cancelled context).
	Rank(ctx context.Context, g *Group) (Outcome, error)
	// Shared returns the options every method has.
	Shared() Common
}

// Starter is a Method that keeps a buffer per query.
type Starter interface {
	// Start makes the buffer a query begins with, or nil if its first group
	// will. An error means the query lacks what the method's options need.
	Start(q query.Query) (*buffer.Buffer, error)
}

// Spec is what is known of a group before its responses come.
type Spec struct {
	Query     query.Query
	Buffer    *buffer.Buffer // nil: none yet, or the method keeps none
	Reference string         // the response PRC compares with
	Epoch     int            // training epoch; by default the number of groups ranked for the query
	Step      int            // training step, 0 when not given; part of the presentation hash
	Size      int            // number of responses G
	Seed      int64          // of the presentation order and of votes
	Validate  bool           // score against the buffer, never change it
}

// Outcome is what a method found. Slices are parallel to the responses; entries
// of failed responses are ignored.
type Outcome struct {
	Rewards   []float64      // before the format reward
	Positions []*int         // coarse position 0..K, nil where there is none
	Progress  []*float64     // share of initial anchors below, nil where unknown
	Buffer    *buffer.Buffer // what the buffer becomes if nothing failed; nil leaves it
	Partial   bool           // a call failed that no single response answers for
}
