package prompt

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

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
	k, ok := kinds[kind]
	if !ok {
		return fmt.Errorf("%w: unknown kind %q", ErrVars, kind)
	}
	if err := checkQuery(v.Query); err != nil {
		return err
	}
	switch {
	case k.rubrics == one && len(v.Rubrics) != 1:
		return fmt.Errorf("%w: Rubrics: %s takes exactly one, got %d", ErrVars, kind, len(v.Rubrics))
	case k.rubrics == many && len(v.Rubrics) == 0:
		return fmt.Errorf("%w: Rubrics: %s needs at least one", ErrVars, kind)
	case k.anchors && len(v.Anchors) == 0:
		return fmt.Errorf("%w: Anchors: %s needs at least one", ErrVars, kind)
	case k.candidates == one && len(v.Candidates) != 1:
		return fmt.Errorf("%w: Candidates: %s takes exactly one, got %d", ErrVars, kind, len(v.Candidates))
	case k.candidates == two && len(v.Candidates) != 2:
		return fmt.Errorf("%w: Candidates: %s takes exactly two, got %d", ErrVars, kind, len(v.Candidates))
	case k.candidates == many && len(v.Candidates) == 0 && kind != Manager:
		return fmt.Errorf("%w: Candidates: %s needs at least one", ErrVars, kind)
	case kind == Rubrics && len(v.Ranked) == 0:
		return fmt.Errorf("%w: Ranked: %s needs at least one", ErrVars, kind)
	case kind == Select && (v.Winners < 1 || v.Winners > len(v.Candidates)):
		return fmt.Errorf("%w: Winners: %d is not between 1 and the %d candidates", ErrVars, v.Winners, len(v.Candidates))
	case kind == Manager:
		return v.checkOrder()
	}
	return nil
}

func checkQuery(q query.Prompt) error {
	if q.Empty() {
		return fmt.Errorf("%w: Query: must not be empty", ErrVars)
	}
	for i, m := range q.Messages {
		if !validRole(m.Role) {
			return fmt.Errorf("%w: query[%d].role: %q: want 1 to 32 letters, digits, _ or -", ErrVars, i, m.Role)
		}
	}
	return nil
}

// validRole keeps a role short and free of whatever a marker is made of.
func validRole(role string) bool {
	if len(role) < 1 || len(role) > 32 {
		return false
	}
	for _, c := range []byte(role) {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-') {
			return false
		}
	}
	return true
}

// checkOrder wants every id of the manager's order to be one of those shown,
// and the number to keep to be within them.
func (v Vars) checkOrder() error {
	shown := make(map[string]bool, len(v.Anchors)+len(v.Candidates))
	for i := range v.Anchors {
		shown["A"+strconv.Itoa(i)] = true
	}
	for i := range v.Candidates {
		shown["R"+strconv.Itoa(i)] = true
	}
	for i, id := range v.Order {
		if !shown[id] {
			return fmt.Errorf("%w: Order[%d]: %q is not shown, or listed twice", ErrVars, i, id)
		}
		delete(shown, id)
	}
	if v.Keep < 1 || v.Keep > len(v.Order) {
		return fmt.Errorf("%w: Keep: %d is not between 1 and the %d ids of Order", ErrVars, v.Keep, len(v.Order))
	}
	return nil
}

// count is how many texts of a sort a kind takes.
type count int

const (
	none count = iota
	one
	two
	many
)

// shape is what a kind of call shows, and with which template variables.
type shape struct {
	rubrics    count
	anchors    bool
	candidates count
	required   []string // variables its template must use
	optional   []string // variables its template may use
}

var kinds = map[Kind]shape{
	Coarse:      {many, true, one, []string{"query", "rubrics", "anchors", "candidate"}, []string{"k", "last"}},
	CoarseOrder: {many, true, one, []string{"query", "rubrics", "anchors", "candidate"}, []string{"k", "last"}},
	Fine:        {many, false, many, []string{"query", "rubrics", "candidates"}, []string{"n", "candidate_ids"}},
	Manager:     {many, true, many, []string{"query", "rubrics", "anchors", "candidates", "order", "lookahead", "keep"}, []string{"k", "n"}},
	Score:       {many, false, one, []string{"query", "rubrics", "candidate"}, nil},
	RubricScore: {one, false, one, []string{"query", "rubric", "candidate"}, nil},
	Pair:        {many, false, two, []string{"query", "rubrics", "candidates"}, nil},
	Match:       {many, false, two, []string{"query", "rubrics", "candidates"}, nil},
	Select:      {many, false, many, []string{"query", "rubrics", "candidates", "winners"}, []string{"n", "candidate_ids"}},
	Preference:  {many, false, two, []string{"query", "rubrics", "candidates"}, nil},
	Reasoned:    {many, false, two, []string{"query", "rubrics", "candidates"}, nil},
	Label:       {many, false, one, []string{"query", "rubrics", "candidate"}, nil},
	Rubrics:     {none, false, none, []string{"query", "ranked"}, []string{"n"}},
}

// Kinds lists every kind, sorted.
func Kinds() []Kind {
	all := make([]Kind, 0, len(kinds))
	for k := range kinds {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}

// candidateID is the id the i-th candidate of a kind is shown with.
func (s shape) candidateID(i int) string {
	switch s.candidates {
	case one:
		return "CANDIDATE"
	case two:
		return string("AB"[i])
	default:
		return "R" + strconv.Itoa(i)
	}
}
