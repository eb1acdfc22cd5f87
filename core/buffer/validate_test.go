package buffer

import (
	"errors"
	"github.com/rankbuffer/rankbuffer/core/fault"
	"strings"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/query"
)

func TestRecordValidate(t *testing.T) {
	const bad = "\xff"
	good := func() Record {
		q := query.Query{
			ID:      "q",
			Prompt:  query.Prompt{Messages: []query.Message{{Role: "user", Content: "why?"}}},
			Rubrics: []query.Rubric{{Text: "true", Weight: 1}},
			Ranked:  []string{"b", "a"},
		}
		b := parse("a b=left c=right d=refine e=llm f=bootstrap", Marks{Epoch: -1}, Marks{Epoch: 4})
		return Record{Query: q, Buffer: b.WithPending(&Pending{Order: []Placed{{Text: "a"}}}), Ordinal: 3}
	}
	if err := good().Validate(); err != nil {
		t.Fatalf("a good record: %v", err)
	}
	if err := (Record{Query: ask("q")}).Validate(); err != nil {
		t.Fatalf("a record that has not started: %v", err)
	}
	for _, c := range []struct {
		names string // what the error must name
		spoil func(*Record)
		want  error
	}{
		{"query_id", func(r *Record) { r.Query.ID = "" }, fault.MissingField},
		{"ranked", func(r *Record) { r.Query.Ranked = []string{"a"} }, fault.InvalidValue},
		{"query_id: not UTF-8", func(r *Record) { r.Query.ID = bad }, fault.InvalidValue},
		{"query: not UTF-8", func(r *Record) { r.Query.Prompt = query.Prompt{Text: bad} }, fault.InvalidValue},
		{"query[0]: not UTF-8", func(r *Record) { r.Query.Prompt.Messages[0].Content = bad }, fault.InvalidValue},
		{"query[0].role", func(r *Record) { r.Query.Prompt.Messages[0].Role = bad }, fault.InvalidValue},
		{"rubrics[0].text: not UTF-8", func(r *Record) { r.Query.Rubrics[0].Text = bad }, fault.InvalidValue},
		{"ranked[1]: not UTF-8", func(r *Record) { r.Query.Ranked[1] = bad }, fault.InvalidValue},
		{"ordinal", func(r *Record) { r.Ordinal = -1 }, fault.InvalidValue},
		{"initial", func(r *Record) { r.Buffer.Initial = -1 }, fault.InvalidValue},
		{"anchors: need at least 2, got 1", func(r *Record) { r.Buffer.Anchors = r.Buffer.Anchors[:1] }, fault.InvalidValue},
		{"groups", func(r *Record) { r.Buffer.Groups = -1 }, fault.InvalidValue},
		{"anchors[1].text: not UTF-8", func(r *Record) { r.Buffer.Anchors[1].Text = bad }, fault.InvalidValue},
		{"anchors[2].inactive", func(r *Record) { r.Buffer.Anchors[2].Inactive = -1 }, fault.InvalidValue},
		{"anchors[0].source", func(r *Record) { r.Buffer.Anchors[0].Source = "magic" }, fault.InvalidValue},
		{"anchors[3]: is the same text as anchors[1]", func(r *Record) { r.Buffer.Anchors[3].Text = "b" }, fault.InvalidValue},
		{"seen[1]", func(r *Record) { r.Buffer.Seen[1].Epoch = -1 }, fault.InvalidValue},
		{"pending.order[0]: not UTF-8", func(r *Record) { r.Buffer.Pending.Order[0].Text = bad }, fault.InvalidValue},
	} {
		r := good()
		c.spoil(&r)
		if err := r.Validate(); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.names) {
			t.Errorf("want an error naming %q, got %v", c.names, err)
		}
	}
}
