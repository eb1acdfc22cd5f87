package prompt

import (
	"errors"
	"fmt"

	"github.com/rankbuffer/rankbuffer/core/query"
)

// ErrVars is wrapped by every error about the content given to Render.
var ErrVars = errors.New("invalid prompt content")

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
		return fmt.Errorf("%w: unknown kind %q", ErrVars, kind)
	}
	if err := checkQuery(v.Query); err != nil {
		return err
	}
	shown := counts{len(v.Rubrics), len(v.Anchors), len(v.Candidates), len(v.Ranked), v.Winners}
	if err := shown.check(kind); err != nil {
		return err
	}
	if kind == Manager {
		return checkOrder(v.Order, len(v.Anchors), len(v.Candidates), v.Keep)
	}
	return nil
}

// counts is how many of each a request shows, and asks for.
type counts struct{ rubrics, anchors, candidates, ranked, winners int }

// check holds what is given to render and what is read back to the same rules.
func (c counts) check(kind Kind) error {
	s := kinds[kind]
	switch {
	case s.rubrics == one && c.rubrics != 1:
		return fmt.Errorf("%w: Rubrics: %s takes exactly one, got %d", ErrVars, kind, c.rubrics)
	case s.rubrics == many && c.rubrics == 0:
		return fmt.Errorf("%w: Rubrics: %s needs at least one", ErrVars, kind)
	case s.anchors && c.anchors == 0:
		return fmt.Errorf("%w: Anchors: %s needs at least one", ErrVars, kind)
	case s.candidates == one && c.candidates != 1:
		return fmt.Errorf("%w: Candidates: %s takes exactly one, got %d", ErrVars, kind, c.candidates)
	case s.candidates == two && c.candidates != 2:
		return fmt.Errorf("%w: Candidates: %s takes exactly two, got %d", ErrVars, kind, c.candidates)
	case s.candidates == many && c.candidates == 0 && kind != Manager:
		return fmt.Errorf("%w: Candidates: %s needs at least one", ErrVars, kind)
	case kind == Rubrics && c.ranked == 0:
		return fmt.Errorf("%w: Ranked: %s needs at least one", ErrVars, kind)
	case kind == Select && (c.winners < 1 || c.winners > c.candidates):
		return fmt.Errorf("%w: Winners: %d is not between 1 and the %d candidates", ErrVars, c.winners, c.candidates)
	}
	return nil
}

func checkQuery(q query.Prompt) error {
	if q.Empty() {
		return fmt.Errorf("%w: Query: must not be empty", ErrVars)
	}
	for i, m := range q.Messages {
		if !query.ValidRole(m.Role) {
			return fmt.Errorf("%w: query[%d].role: %q: want 1 to 32 letters, digits, _ or -", ErrVars, i, m.Role)
		}
	}
	return nil
}

// checkOrder wants every id of the manager's order to be one of those shown,
// and the number to keep to be within them.
func checkOrder(order []string, anchors, candidates, keep int) error {
	shown := make(map[string]bool, anchors+candidates)
	for i := range anchors {
		shown[anchorID(i)] = true
	}
	for i := range candidates {
		shown[rolloutID(i)] = true
	}
	for i, id := range order {
		if !shown[id] {
			return fmt.Errorf("%w: Order[%d]: %q is not shown, or listed twice", ErrVars, i, id)
		}
		delete(shown, id)
	}
	if keep < 1 || keep > len(order) {
		return fmt.Errorf("%w: Keep: %d is not between 1 and the %d ids of Order", ErrVars, keep, len(order))
	}
	return nil
}
