package buffer

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// ErrInvalid is wrapped when a record cannot be what this package made.
var ErrInvalid = errors.New("invalid record")

// Validate checks a record that came from outside, such as a file: a usable
// query, distinct anchor texts of known sources, epochs in order, no negative
// counts, and UTF-8 text throughout, without which its JSON would not be it.
func (r Record) Validate() error {
	if err := r.Query.Validate(); err != nil {
		return err
	}
	err := r.validateText()
	if err == nil && r.Ordinal < 0 {
		err = fmt.Errorf("ordinal: %d is negative", r.Ordinal)
	}
	if err == nil && len(r.Tags) > MaxTags {
		err = fmt.Errorf("tags: %d are more than %d", len(r.Tags), MaxTags)
	}
	if err == nil && r.Buffer != nil {
		err = r.Buffer.validate()
	}
	if err != nil {
		return fmt.Errorf("%w: query_id %q: %w", ErrInvalid, r.Query.ID, err)
	}
	return nil
}

func (r Record) validateText() error {
	if !utf8.ValidString(r.Query.ID) {
		return errors.New("query_id: not UTF-8")
	}
	if !utf8.ValidString(r.Query.Prompt.Text) {
		return errors.New("query: not UTF-8")
	}
	for i, m := range r.Query.Prompt.Messages {
		if !utf8.ValidString(m.Role) || !utf8.ValidString(m.Content) {
			return fmt.Errorf("query[%d]: not UTF-8", i)
		}
	}
	for i, rubric := range r.Query.Rubrics {
		if !utf8.ValidString(rubric.Text) {
			return fmt.Errorf("rubrics[%d].text: not UTF-8", i)
		}
	}
	for i, tag := range r.Tags {
		if !utf8.ValidString(tag) {
			return fmt.Errorf("tags[%d]: not UTF-8", i)
		}
	}
	for i, text := range r.Query.Ranked {
		if !utf8.ValidString(text) {
			return fmt.Errorf("ranked[%d]: not UTF-8", i)
		}
	}
	return nil
}

func (b *Buffer) validate() error {
	if b.Initial < 0 || b.Groups < 0 {
		return fmt.Errorf("buffer: initial %d and groups %d must not be negative", b.Initial, b.Groups)
	}
	if len(b.Anchors) < 2 {
		return fmt.Errorf("anchors: %d are no scale, which has two ends", len(b.Anchors))
	}
	texts := make(map[string]int, len(b.Anchors))
	for i, a := range b.Anchors {
		if err := a.validate(); err != nil {
			return fmt.Errorf("anchors[%d]: %w", i, err)
		}
		if j, twice := texts[a.Text]; twice {
			return fmt.Errorf("anchors[%d]: is the same text as anchors[%d]", i, j)
		}
		texts[a.Text] = i
	}
	for i := 1; i < len(b.Seen); i++ {
		if b.Seen[i].Epoch <= b.Seen[i-1].Epoch {
			return fmt.Errorf("seen[%d]: epoch %d is not after epoch %d", i, b.Seen[i].Epoch, b.Seen[i-1].Epoch)
		}
	}
	if b.Pending != nil {
		for i, p := range b.Pending.Order {
			if !utf8.ValidString(p.Text) {
				return fmt.Errorf("pending.order[%d]: not UTF-8", i)
			}
		}
	}
	return nil
}

func (a Anchor) validate() error {
	if !utf8.ValidString(a.Text) {
		return errors.New("text: not UTF-8")
	}
	if a.Inactive < 0 {
		return fmt.Errorf("inactive: %d is negative", a.Inactive)
	}
	switch a.Source {
	case Ranked, Bootstrap, Left, Right, Refine, LLM:
		return nil
	}
	return fmt.Errorf("source: %q is none", a.Source)
}
