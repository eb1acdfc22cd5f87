// Package rank says what a reward method and a group are, and turns a group of
// responses to one query into rewards. What all methods share (empty and
// identical responses, failures, format reward, advantages) is done once, around
// them. The methods are in core/rank/methods, the calls that several of them make
// in core/rank/calls. README.md tells how to write one.
package rank

import (
	"context"

	"github.com/rankbuffer/rankbuffer/core/buffer"
	"github.com/rankbuffer/rankbuffer/core/query"
)

// Method is one way to reward a group. Implementations hold options only and
// are safe for concurrent use. Whatever embeds Options has all but Rank.
type Method interface {
	// Shared returns the options every method has.
	Shared() Options
	// Validate names the first option that cannot be used.
	Validate() error
	// Warnings names options that are likely a mistake with a judge of the given
	// temperature, and says what to do.
	Warnings(temperature float64) []string
	// Check refuses a group the method cannot judge, naming the field, before
	// any call is paid for. Responses are not known yet.
	Check(s Spec) error
	// Rank judges the group. It must not depend on the order in which responses
	// arrive. Failed calls are reported with Group.Fail and Group.FailCall; the
	// error is for what makes the whole group meaningless (a cancelled context).
	Rank(ctx context.Context, g *Group) (Outcome, error)
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
}
