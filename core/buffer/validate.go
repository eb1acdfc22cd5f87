package buffer

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/query"
)

func invalid(field, format string, args ...any) error {
	return fault.New(fault.InvalidValue, field, format, args...)
}

// Validate checks a record that came from outside, such as a file: a usable
// query, distinct anchor texts of known sources, epochs in order, no negative
// counts, and UTF-8 text throughout, without which its JSON would not be it.
func (r Record) Validate() error {
	if err := r.validate(); err != nil {
		return fmt.Errorf("query_id %q: %w", r.Query.ID, err)
	}
	return nil
}

func (r Record) validate() error {
	if err := r.Query.Validate(); err != nil {
		return err
	}
	if err := r.validateText(); err != nil {
		return err
	}
	if r.Ordinal < 0 {
		return invalid("ordinal", "%d is negative", r.Ordinal)
	}
	if len(r.IdempotencyKeys) > MaxKeys {
		return invalid("idempotency_keys", "%d are more than %d", len(r.IdempotencyKeys), MaxKeys)
	}
	if r.Buffer == nil {
		return nil
	}
	return r.Buffer.validate()
}

// validateText finds text that JSON cannot hold.
func (r Record) validateText() error {
	return cmp.Or(
		textOf("query_id", []string{r.Query.ID}, itself),
		textOf("query", []string{r.Query.Prompt.Text}, itself),
		textOf("query[%d]", r.Query.Prompt.Messages, func(m query.Message) string { return m.Content }),
		textOf("rubrics[%d].text", r.Query.Rubrics, func(r query.Rubric) string { return r.Text }),
		textOf("idempotency_keys[%d]", r.IdempotencyKeys, itself),
		textOf("ranked[%d]", r.Query.Ranked, itself),
	)
}

func itself(text string) string { return text }

// textOf refuses the first of the items whose text is not UTF-8; field names one
// by its index.
func textOf[T any](field string, items []T, text func(T) string) error {
	for i, item := range items {
		if utf8.ValidString(text(item)) {
			continue
		}
		if strings.Contains(field, "%") {
			field = fmt.Sprintf(field, i)
		}
		return invalid(field, "not UTF-8")
	}
	return nil
}

func (b *Buffer) validate() error {
	if b.Initial < 0 || b.Groups < 0 {
		return invalid("buffer", "initial %d and groups %d must not be negative", b.Initial, b.Groups)
	}
	if len(b.Anchors) < 2 {
		return invalid("anchors", "need at least 2, got %d", len(b.Anchors))
	}
	texts := make(map[string]int, len(b.Anchors))
	for i, a := range b.Anchors {
		field := fmt.Sprintf("anchors[%d]", i)
		if err := a.validate(); err != nil {
			return fault.In(field, err)
		}
		if j, twice := texts[a.Text]; twice {
			return invalid(field, "is the same text as anchors[%d]", j)
		}
		texts[a.Text] = i
	}
	for i := 1; i < len(b.Seen); i++ {
		if b.Seen[i].Epoch <= b.Seen[i-1].Epoch {
			return invalid(fmt.Sprintf("seen[%d]", i), "epoch %d is not after epoch %d", b.Seen[i].Epoch, b.Seen[i-1].Epoch)
		}
	}
	if b.Pending != nil {
		return textOf("pending.order[%d]", b.Pending.Order, func(p Placed) string { return p.Text })
	}
	return nil
}

func (a Anchor) validate() error {
	if a.Inactive < 0 {
		return invalid("inactive", "%d is negative", a.Inactive)
	}
	switch a.Source {
	case Ranked, Bootstrap, Left, Right, Refine, LLM:
		return textOf("text", []string{a.Text}, itself)
	}
	return invalid("source", "%q is not the source of an anchor", a.Source)
}
