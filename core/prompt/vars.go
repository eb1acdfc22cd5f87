package prompt

import (
	"fmt"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/query"
)

// Vars is what one request shows the judge. Each kind uses the fields named in
// its comment below and ignores the others.
type Vars struct {
	Query   query.Prompt   // every kind
	Rubrics []query.Rubric // every kind but Rubrics; RubricScore takes exactly one

	// Anchors, worst to best, are shown as A0..A(K-1): Coarse and Manager.
	// CoarseOrder shows their ids only, so only their number counts.
	Anchors []string
	// Candidates, in shown order. Coarse, CoarseOrder, Score, RubricScore and
	// Label take exactly one, shown as CANDIDATE; Pair, Match, Preference and
	// Reasoned exactly two, shown as A and B; Fine and Select at least one and
	// Manager any number, shown as R0..R(n-1).
	Candidates []string

	Lookahead []string // Manager with look-ahead: shown as L0.., context only; none for the plain manager
	Order     []string // Manager: ids such as A0 or R2, worst to best, each once
	Keep      int      // Manager: how many ids to return (K0)
	Winners   int      // Select: how many winners to return
	Ranked    []string // Rubrics: responses best first, shown as RANK1..RANKn
}

func (v Vars) check(kind Kind) error {
	if _, ok := kinds[kind]; !ok {
		return fault.New(fault.Internal, "", "unknown kind %q of judge call", kind)
	}
	return contents{v.Query, len(v.Rubrics), len(v.Anchors), len(v.Candidates), len(v.Ranked), v.Order, v.Keep, v.Winners}.check(kind)
}

// contents is what a request shows, and how much of it.
type contents struct {
	query                                query.Prompt
	rubrics, anchors, candidates, ranked int
	order                                []string
	keep, winners                        int
}

// check holds what is given to render and what is read back to the same rules.
func (c contents) check(kind Kind) error {
	s := kinds[kind]
	wrong := func(field, need string, got int) error {
		return fault.New(fault.InvalidValue, field, "a call of kind %s needs %s, got %d", kind, need, got)
	}
	switch {
	case c.query.Empty():
		return fault.New(fault.MissingField, "query", "must not be empty")
	case s.shows("rubric") && c.rubrics != 1:
		return wrong("rubrics", "exactly 1", c.rubrics)
	case s.shows("rubrics") && c.rubrics == 0:
		return wrong("rubrics", "at least 1", c.rubrics)
	case s.shows("anchors") && c.anchors == 0:
		return wrong("anchors", "at least 1", c.anchors)
	case s.candidates == one && c.candidates != 1:
		return wrong("candidates", "exactly 1", c.candidates)
	case s.candidates == two && c.candidates != 2:
		return wrong("candidates", "exactly 2", c.candidates)
	case s.candidates == many && c.candidates == 0:
		return wrong("candidates", "at least 1", c.candidates)
	case s.shows("ranked") && c.ranked == 0:
		return wrong("ranked", "at least 1", c.ranked)
	case s.shows("winners") && (c.winners < 1 || c.winners > c.candidates):
		return wrong("winners", fmt.Sprintf("1 to %d", c.candidates), c.winners)
	}
	if s.shows("order") {
		if err := c.checkOrder(); err != nil {
			return err
		}
	}
	return c.query.CheckRoles()
}

// checkOrder wants every id of the manager's order to be one of those shown,
// and the number to keep to be within them.
func (c contents) checkOrder() error {
	shown := map[string]bool{}
	for i := range c.anchors {
		shown[anchorID(i)] = true
	}
	for i := range c.candidates {
		shown[rolloutID(i)] = true
	}
	for i, id := range c.order {
		if !shown[id] {
			return fault.New(fault.InvalidValue, fmt.Sprintf("order[%d]", i), "%q is not shown, or listed twice", id)
		}
		delete(shown, id)
	}
	if c.keep < 1 || c.keep > len(c.order) {
		return fault.New(fault.InvalidValue, "keep", "must be 1 to %d, the ids of the order, got %d", len(c.order), c.keep)
	}
	return nil
}
