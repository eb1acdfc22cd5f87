package fault

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

func TestErrorTexts(t *testing.T) {
	cause := errors.New("cut short")
	for _, c := range []struct {
		err                    error
		code                   Code
		text, summary, message string
	}{
		{New(InvalidValue, "k0", "need at least 2, got %d", 1), InvalidValue,
			"k0: need at least 2, got 1", "k0: this value cannot be used", "k0: need at least 2, got 1"},
		{In("method.rankbuffer", New(InvalidValue, "k0", "need at least 2")), InvalidValue,
			"method.rankbuffer.k0: need at least 2", "method.rankbuffer.k0: this value cannot be used", "method.rankbuffer.k0: need at least 2"},
		{In("rubrics", In("[1]", New(MissingField, "text", "missing"))), MissingField,
			"rubrics[1].text: missing", "rubrics[1].text: this field is needed and missing", "rubrics[1].text: missing"},
		{In("query", cause), InvalidValue, "query: cut short", "query: this value cannot be used", "query: cut short"},
		{InFile(CheckpointDamaged, "a.zst", cause), CheckpointDamaged,
			"a.zst: cut short", "the checkpoint is damaged or incomplete", "a.zst: cut short"},
		{fmt.Errorf("restore: %w", InFile(CheckpointDamaged, "a.zst", cause)), CheckpointDamaged,
			"restore: a.zst: cut short", "the checkpoint is damaged or incomplete", "restore: a.zst: cut short"},
		{context.Canceled, Cancelled, "context canceled", "the group was cancelled", "context canceled"},
		{cause, Internal, "cut short", "an internal error, please report it", "cut short"},
	} {
		got := From(c.err)
		if got.Code != c.code || c.err.Error() != c.text || got.Summary() != c.summary || got.JSON().Message != c.message {
			t.Errorf("%v: code %s, summary %q, message %q", c.err, got.Code, got.Summary(), got.JSON().Message)
		}
		if !errors.Is(got, c.code) {
			t.Errorf("%v is not %s", got, c.code)
		}
	}
	if In("query", nil) != nil {
		t.Error("no error became one")
	}
	line := &Error{Code: InvalidJSON, File: "a.jsonl", Line: 3, Field: "query", Err: cause}
	if got := line.Error(); got != "a.jsonl:3: query: cut short" {
		t.Errorf("got %q", got)
	}
}
