package checkpoint

import (
	"fmt"

	"github.com/rankbuffer/rankbuffer/core/buffer"
)

// metaEntry is the payload of a journal's first entry.
type metaEntry struct {
	Meta Meta `json:"meta"`
}

// entryJSON is the payload of every other one: a whole record, or a change.
type entryJSON struct {
	Step *int `json:"step,omitempty"`

	AfterCheckpoint int    `json:"after_checkpoint,omitempty"`
	IdempotencyKey  string `json:"idempotency_key,omitempty"`

	Record *buffer.Record `json:"record,omitempty"`
	Change *change        `json:"change,omitempty"`
	Result *KeyedResult   `json:"keyed_result,omitempty"`
}

// change is a record by what differs from an older one of the same query. Its
// query stays; anchors that stay are named by their place.
type change struct {
	QueryID string       `json:"query_id"`
	Ordinal int          `json:"ordinal"`
	Keys    []string     `json:"idempotency_keys,omitempty"`
	Same    bool         `json:"same,omitempty"`   // the buffer is the older one
	Buffer  *bufferDelta `json:"buffer,omitempty"` // neither: there is none
}

type bufferDelta struct {
	Initial int             `json:"initial"`
	Anchors []anchorDelta   `json:"anchors"`
	Seen    []buffer.Marks  `json:"seen"`
	Groups  int             `json:"groups"`
	Pending *buffer.Pending `json:"pending,omitempty"`
}

// anchorDelta is a new anchor, or the one at From of the older buffer with its
// inactivity as it is now.
type anchorDelta struct {
	From     *int           `json:"from,omitempty"`
	Inactive int            `json:"inactive,omitempty"`
	New      *buffer.Anchor `json:"new,omitempty"`
}

// changeOf describes r by its difference from old.
func changeOf(old *buffer.Buffer, r buffer.Record) *change {
	c := &change{QueryID: r.Query.ID, Ordinal: r.Ordinal, Keys: r.IdempotencyKeys}
	switch {
	case r.Buffer == old:
		c.Same = true
		return c
	case r.Buffer == nil:
		return c
	}
	places := map[string]int{}
	if old != nil {
		for i, a := range old.Anchors {
			places[a.Text] = i
		}
	}
	d := &bufferDelta{Initial: r.Buffer.Initial, Anchors: []anchorDelta{}, Seen: r.Buffer.Seen, Groups: r.Buffer.Groups, Pending: r.Buffer.Pending}
	for _, a := range r.Buffer.Anchors {
		if i, ok := places[a.Text]; ok && sameButInactive(a, old.Anchors[i]) {
			d.Anchors = append(d.Anchors, anchorDelta{From: &i, Inactive: a.Inactive})
			continue
		}
		d.Anchors = append(d.Anchors, anchorDelta{New: &a})
	}
	c.Buffer = d
	return c
}

func sameButInactive(a, b buffer.Anchor) bool {
	a.Inactive = b.Inactive
	return a == b
}

// apply rebuilds the record that c was made of, given the older one.
func (c *change) apply(old buffer.Record) (buffer.Record, error) {
	r := buffer.Record{Query: old.Query, Ordinal: c.Ordinal, IdempotencyKeys: c.Keys}
	switch {
	case c.Same:
		r.Buffer = old.Buffer
	case c.Buffer != nil:
		b, err := c.Buffer.apply(old.Buffer)
		if err != nil {
			return r, err
		}
		r.Buffer = b
	}
	return r, r.Validate()
}

func (d *bufferDelta) apply(old *buffer.Buffer) (*buffer.Buffer, error) {
	b := &buffer.Buffer{Initial: d.Initial, Anchors: make([]buffer.Anchor, len(d.Anchors)), Seen: d.Seen, Groups: d.Groups, Pending: d.Pending}
	for i, a := range d.Anchors {
		switch {
		case a.New != nil && a.From == nil:
			b.Anchors[i] = *a.New
		case a.From == nil:
			return nil, fmt.Errorf("anchors[%d]: neither new nor kept", i)
		case old == nil || *a.From < 0 || *a.From >= len(old.Anchors):
			return nil, fmt.Errorf("anchors[%d]: there is no anchor %d to keep", i, *a.From)
		default:
			b.Anchors[i] = old.Anchors[*a.From]
			b.Anchors[i].Inactive = a.Inactive
		}
	}
	return b, nil
}
