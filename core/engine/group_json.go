package engine

import (
	"fmt"
	"time"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/rank"
	"github.com/rankbuffer/rankbuffer/core/strict"
)

// groupJSON is a group as the caller describes it.
type groupJSON struct {
	givenQuery
	Responses    []string  `json:"responses"`
	Eligible     []bool    `json:"eligible"`
	FormatScores []float64 `json:"format_scores"` // 0..1
	Epoch        *int      `json:"epoch"`
	Step         *int      `json:"step"`
	Update       *bool     `json:"update"`
	Validate     bool      `json:"validate"`
	DeadlineMS   *int64    `json:"deadline_ms"`

	IdempotencyKey  string `json:"idempotency_key"`  // a group with a key that was applied before changes nothing
	AfterCheckpoint int    `json:"after_checkpoint"` // number of the newest checkpoint saved when the group began
	ResultKey       string `json:"result_key"`       // the journal keeps the result under it
}

// Bounds of the keys, in bytes.
const (
	maxIdempotencyKey = 256
	maxResultKey      = 512
)

// decodeGroup reads a group of size responses; size < 0 takes the responses in
// the JSON, otherwise there must be none (an open group).
func decodeGroup(data []byte, size int, l limits) (groupJSON, error) {
	var g groupJSON
	texts := map[string]any{"responses": &g.Responses, "ranked": &g.Ranked}
	if err := strict.UnmarshalTexts("", data, &g, texts); err != nil {
		return g, inDocument("group", err)
	}
	return g, ofQuery(g.ID, g.check(size, l))
}

func (g groupJSON) check(size int, l limits) error {
	if size >= 0 && len(g.Responses) > 0 {
		return invalid("responses", "an open group takes them one by one")
	}
	n := size
	if size < 0 {
		n = len(g.Responses)
	}
	switch {
	case g.ID == "":
		return fault.New(fault.MissingField, "query_id", "must not be empty")
	case n < 1:
		return invalid("responses", "need at least 1")
	case n > l.MaxGroupSize:
		return invalid("responses", "%d are more than max_group_size = %d", n, l.MaxGroupSize)
	case len(g.Eligible) > 0 && len(g.Eligible) != n:
		return invalid("eligible", "has %d entries for %d responses", len(g.Eligible), n)
	case len(g.FormatScores) > 0 && len(g.FormatScores) != n:
		return invalid("format_scores", "has %d entries for %d responses", len(g.FormatScores), n)
	case g.Epoch != nil && *g.Epoch < 0:
		return invalid("epoch", "need at least 0, got %d", *g.Epoch)
	case g.Step != nil && *g.Step < 0:
		return invalid("step", "need at least 0, got %d", *g.Step)
	case len(g.IdempotencyKey) > maxIdempotencyKey:
		return invalid("idempotency_key", "%d bytes are more than %d", len(g.IdempotencyKey), maxIdempotencyKey)
	case len(g.ResultKey) > maxResultKey:
		return invalid("result_key", "%d bytes are more than %d", len(g.ResultKey), maxResultKey)
	case g.AfterCheckpoint < 0:
		return invalid("after_checkpoint", "need at least 0, got %d", g.AfterCheckpoint)
	case g.DeadlineMS != nil && *g.DeadlineMS < 1:
		return invalid("deadline_ms", "need at least 1, got %d", *g.DeadlineMS)
	}
	for i, s := range g.FormatScores {
		if err := checkScore(fmt.Sprintf("format_scores[%d]", i), s); err != nil {
			return err
		}
	}
	for i, text := range g.Responses {
		if len(text) > l.MaxResponseBytes { // checkText takes a name, which is made for the few
			return l.checkText(fmt.Sprintf("responses[%d]", i), text)
		}
	}
	return l.checkQuery(g.givenQuery)
}

func checkScore(field string, s float64) error {
	if s >= 0 && s <= 1 {
		return nil
	}
	return invalid(field, "%v is not in 0..1", s)
}

// response fills in what the group says of response i beside its text.
func (g groupJSON) response(i int, text string) rank.Response {
	r := rank.Response{Text: text}
	if len(g.Eligible) > 0 {
		r.Ineligible = !g.Eligible[i]
	}
	if len(g.FormatScores) > 0 {
		r.Format = &g.FormatScores[i]
	}
	return r
}

func (g groupJSON) updates() bool { return !g.Validate && (g.Update == nil || *g.Update) }

func (g groupJSON) deadline() time.Duration {
	if g.DeadlineMS == nil {
		return 0
	}
	return time.Duration(*g.DeadlineMS) * time.Millisecond
}
