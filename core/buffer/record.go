package buffer

import (
	"slices"

	"github.com/rankbuffer/rankbuffer/core/query"
)

// Record is all that is kept of one query.
type Record struct {
	Query   query.Query `json:"query"`
	Buffer  *Buffer     `json:"buffer,omitempty"` // nil until the first group bootstraps it
	Ordinal int         `json:"ordinal"`          // groups completed for the query
	Tags    []string    `json:"tags,omitempty"`   // names of the newest groups that changed it, oldest first
}

// MaxTags is how many tags a record keeps: far more than a query's groups that
// can still be handed in again.
const MaxTags = 64

// Tagged reports whether a group of this name changed the record.
func (r Record) Tagged(tag string) bool { return tag != "" && slices.Contains(r.Tags, tag) }

// withTag returns the tags with one more, in a slice of its own.
func (r Record) withTag(tag string) []string {
	kept := r.Tags[max(0, len(r.Tags)+1-MaxTags):]
	return append(slices.Clone(kept), tag)
}

// View is what a person or a program is shown of a record.
type View struct {
	QueryID    string         `json:"query_id"`
	Query      query.Prompt   `json:"query"`
	Rubrics    []query.Rubric `json:"rubrics"` // as given: empty when the general one stands in
	Initial    int            `json:"initial"`
	EpochsSeen []int          `json:"epochs_seen"` // ascending
	Anchors    []Anchor       `json:"anchors"`     // worst first
}

// View shows the record. A buffer that has not started has no anchors and no
// epochs; lists are never null.
func (r Record) View() View {
	v := View{
		QueryID:    r.Query.ID,
		Query:      r.Query.Prompt,
		Rubrics:    append([]query.Rubric{}, r.Query.Rubrics...),
		EpochsSeen: []int{},
		Anchors:    []Anchor{},
	}
	if r.Buffer == nil {
		return v
	}
	v.Initial = r.Buffer.Initial
	v.Anchors = append(v.Anchors, r.Buffer.Anchors...)
	for _, m := range r.Buffer.Seen {
		v.EpochsSeen = append(v.EpochsSeen, m.Epoch)
	}
	return v
}
