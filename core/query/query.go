// Package query holds what a judge needs to know about one query: the prompt,
// its weighted rubrics and the responses already ranked for it. It is the
// vocabulary every other package shares and depends on none of them.
package query

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrInvalid is wrapped by every error about a query's content.
var ErrInvalid = errors.New("invalid query")

// Message is one chat turn of a query.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Prompt is what the policy was asked: plain text, or chat messages. Exactly
// one of the two is set. In JSON it is a string or a list of messages.
type Prompt struct {
	Text     string
	Messages []Message
}

// ValidRole keeps a role short and free of whatever a marker is made of.
func ValidRole(role string) bool {
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

// Empty reports whether nothing was given.
func (p Prompt) Empty() bool { return p.Text == "" && len(p.Messages) == 0 }

// Equal reports whether both prompts hold the same text or messages.
func (p Prompt) Equal(o Prompt) bool {
	return p.Text == o.Text && slices.Equal(p.Messages, o.Messages)
}

// MarshalJSON writes a string, or a list of messages.
func (p Prompt) MarshalJSON() ([]byte, error) {
	if len(p.Messages) > 0 {
		return json.Marshal(p.Messages)
	}
	return json.Marshal(p.Text)
}

// UnmarshalJSON reads a string, or a list of messages.
func (p *Prompt) UnmarshalJSON(data []byte) error {
	*p = Prompt{}
	if data = bytes.TrimSpace(data); len(data) > 0 && data[0] == '[' {
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&p.Messages); err != nil {
			return fmt.Errorf("query: a list must hold {\"role\", \"content\"} messages with text content: %w", err)
		}
		return nil
	}
	if err := json.Unmarshal(data, &p.Text); err != nil {
		return fmt.Errorf("query: want a string or a list of messages: %w", err)
	}
	return nil
}

// maxWeight keeps every weighted sum finite.
const maxWeight = 1e6

// Rubric is one criterion and how much it counts.
type Rubric struct {
	Text   string  `json:"text"`
	Weight float64 `json:"weight"`
}

// UnmarshalJSON applies the default weight of 1 and rejects unknown fields.
func (r *Rubric) UnmarshalJSON(data []byte) error {
	type plain Rubric
	v := plain{Weight: 1}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		return fmt.Errorf("rubric: %w", err)
	}
	*r = Rubric(v)
	return nil
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
		return fmt.Errorf("%w: query_id: must not be empty", ErrInvalid)
	}
	if q.Prompt.Empty() {
		return fmt.Errorf("%w %q: query: needed the first time a query is seen", ErrInvalid, q.ID)
	}
	for i, m := range q.Prompt.Messages {
		if !ValidRole(m.Role) {
			return fmt.Errorf("%w %q: query[%d].role: %q: want 1 to 32 letters, digits, _ or -", ErrInvalid, q.ID, i, m.Role)
		}
	}
	for i, r := range q.Rubrics {
		if strings.TrimSpace(r.Text) == "" {
			return fmt.Errorf("%w %q: rubrics[%d].text: must not be empty", ErrInvalid, q.ID, i)
		}
		if !(r.Weight > 0 && r.Weight <= maxWeight) {
			return fmt.Errorf("%w %q: rubrics[%d].weight: %v is not a number above 0 and up to %g", ErrInvalid, q.ID, i, r.Weight, maxWeight)
		}
	}
	if len(q.Ranked) == 1 {
		return fmt.Errorf("%w %q: ranked: needs at least 2 responses, best first, got 1", ErrInvalid, q.ID)
	}
	seen := make(map[string]int, len(q.Ranked))
	for i, text := range q.Ranked {
		if strings.TrimSpace(text) == "" {
			return fmt.Errorf("%w %q: ranked[%d]: must not be empty", ErrInvalid, q.ID, i)
		}
		if j, ok := seen[text]; ok {
			return fmt.Errorf("%w %q: ranked[%d]: is the same text as ranked[%d]", ErrInvalid, q.ID, i, j)
		}
		seen[text] = i
	}
	return nil
}

// Conflict names the first field that other gives and that differs from q, or
// returns "". A field that other leaves out is no conflict.
func (q Query) Conflict(other Query) string {
	switch {
	case !other.Prompt.Empty() && !q.Prompt.Equal(other.Prompt):
		return "query"
	case len(other.Rubrics) > 0 && !slices.Equal(q.Rubrics, other.Rubrics):
		return "rubrics"
	case len(other.Ranked) > 0 && !slices.Equal(q.Ranked, other.Ranked):
		return "ranked"
	}
	return ""
}

// WithRubrics returns the rubrics the judge is shown: the query's own, or the
// general one.
func (q Query) WithRubrics() []Rubric {
	if len(q.Rubrics) == 0 {
		return []Rubric{GeneralRubric}
	}
	return q.Rubrics
}
