// Package query holds what a judge needs to know about one query: the prompt,
// its weighted rubrics and the responses already ranked for it. It is the
// vocabulary that every other package shares.
package query

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/strict"
)

// maxWeight keeps every weighted sum finite.
const maxWeight = 1_000_000

// Rubric is one criterion and how much it counts.
type Rubric struct {
	Text   string  `json:"text"`
	Weight float64 `json:"weight"`
}

// UnmarshalJSON applies the default weight of 1 and rejects unknown fields.
func (r *Rubric) UnmarshalJSON(data []byte) error {
	type plain Rubric
	*r = Rubric{Weight: 1}
	return strict.Unmarshal("", data, (*plain)(r))
}

// GeneralRubric stands in when a query comes without rubrics.
var GeneralRubric = Rubric{
	Text:   "Overall, how well the response serves the person who asked: correct, complete, clear and to the point.",
	Weight: 1,
}

// Query is everything fixed about a query. Ranked holds responses whose order
// is already known, best first.
type Query struct {
	ID      string   `json:"query_id"`
	Prompt  Prompt   `json:"query"`
	Rubrics []Rubric `json:"rubrics"`
	Ranked  []string `json:"ranked,omitempty"`
}

// Validate names the first field that cannot be used.
func (q Query) Validate() error {
	if q.ID == "" {
		return fault.New(fault.MissingField, "query_id", "must not be empty")
	}
	if q.Prompt.Empty() {
		return fault.New(fault.MissingField, "query", "needed the first time a query is seen")
	}
	if err := q.Prompt.CheckRoles(); err != nil {
		return err
	}
	for i, r := range q.Rubrics {
		if err := r.validate(); err != nil {
			return fault.In(fmt.Sprintf("rubrics[%d]", i), err)
		}
	}
	if len(q.Ranked) == 1 {
		return fault.New(fault.InvalidValue, "ranked", "need at least 2 responses, best first, got 1")
	}
	seen := make(map[string]int, len(q.Ranked))
	for i, text := range q.Ranked {
		field := fmt.Sprintf("ranked[%d]", i)
		if strings.TrimSpace(text) == "" {
			return fault.New(fault.InvalidValue, field, "must not be empty")
		}
		if j, ok := seen[text]; ok {
			return fault.New(fault.InvalidValue, field, "is the same text as ranked[%d]", j)
		}
		seen[text] = i
	}
	return nil
}

func (r Rubric) validate() error {
	if strings.TrimSpace(r.Text) == "" {
		return fault.New(fault.InvalidValue, "text", "must not be empty")
	}
	if !(r.Weight > 0 && r.Weight <= maxWeight) {
		return fault.New(fault.InvalidValue, "weight", "must be above 0 and at most %d, got %v", maxWeight, r.Weight)
	}
	return nil
}

// CheckSame refuses another content of the query: it names the first field that
// other gives and that differs from q. A field that other leaves out may differ.
func (q Query) CheckSame(other Query) error {
	field := ""
	switch {
	case !other.Prompt.Empty() && !q.Prompt.Equal(other.Prompt):
		field = "query"
	case len(other.Rubrics) > 0 && !slices.Equal(q.Rubrics, other.Rubrics):
		field = "rubrics"
	case len(other.Ranked) > 0 && !slices.Equal(q.Ranked, other.Ranked):
		field = "ranked"
	default:
		return nil
	}
	return fault.New(fault.QueryConflict, field, "differs from what this query id was given first; give the other query an id of its own")
}

// WithRubrics returns the rubrics the judge is shown: the query's own, or the
// general one.
func (q Query) WithRubrics() []Rubric {
	if len(q.Rubrics) == 0 {
		return []Rubric{GeneralRubric}
	}
	return q.Rubrics
}
