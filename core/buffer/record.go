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

	// IdempotencyKeys are those of the newest groups that changed the record, the
	// oldest first.
	IdempotencyKeys []string `json:"idempotency_keys,omitempty"`
}

// MaxKeys is how many idempotency keys a record keeps: far more than a query has
// groups that can still be handed in again.
const MaxKeys = 64

// Applied reports whether a group with this key changed the record.
func (r Record) Applied(key string) bool { return key != "" && slices.Contains(r.IdempotencyKeys, key) }

// withKey returns the keys with one more, in a slice of its own.
func (r Record) withKey(key string) []string {
	kept := r.IdempotencyKeys[max(0, len(r.IdempotencyKeys)+1-MaxKeys):]
	return append(slices.Clone(kept), key)
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
