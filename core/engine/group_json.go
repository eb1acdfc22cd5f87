package engine

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/query"
	"github.com/rankbuffer/rankbuffer/core/rank"
	"github.com/rankbuffer/rankbuffer/core/strict"
)

// groupJSON is a group as the caller describes it.
type groupJSON struct {
	QueryID      string         `json:"query_id"`
	Query        query.Prompt   `json:"query"`
	Rubrics      []query.Rubric `json:"rubrics"`
	Ranked       []string       `json:"ranked"` // best first
	Reference    string         `json:"reference"`
	Responses    []string       `json:"responses"`
	Eligible     []*bool        `json:"eligible"`
	FormatScores []*float64     `json:"format_scores"` // 0..1
	Epoch        *int           `json:"epoch"`
	Step         *int           `json:"step"`
	Update       *bool          `json:"update"`
	Validate     bool           `json:"validate"`
	DeadlineMS   *int64         `json:"deadline_ms"`

	IdempotencyKey  string `json:"idempotency_key"`  // a group with a key that was applied before changes nothing
	AfterCheckpoint int    `json:"after_checkpoint"` // for the journal: number of the newest checkpoint saved when the group began
	ResultKey       string `json:"result_key"`       // for the journal: the key that its result is kept under
}

const maxIdempotencyKey = 256 // bytes

// decodeGroup reads a group of size responses; size < 0 takes the responses in
// the JSON, otherwise there must be none (an open group).
func decodeGroup(data []byte, size int, l limits) (groupJSON, error) {
	var g groupJSON
	texts := map[string]any{"responses": &g.Responses, "ranked": &g.Ranked}
	if err := strict.UnmarshalTexts("", data, &g, texts); err != nil {
		return g, inDocument("group", err)
	}
	if i, null := nullAmong(data, g.Responses); null {
		return g, ofQuery(g.QueryID, invalid(fmt.Sprintf("responses[%d]", i), "is null, want a string"))
	}
	return g, ofQuery(g.QueryID, g.check(size, l))
}

// nullAmong finds a response that is null. encoding/json reads it as "", which
// would be rewarded as an answer that was given and empty.
func nullAmong(data []byte, responses []string) (index int, null bool) {
	if !slices.Contains(responses, "") {
		return 0, false
	}
	var again struct{ Responses []*string }
	if err := json.Unmarshal(data, &again); err != nil {
		return 0, false // it was decoded before
	}
	index = slices.Index(again.Responses, nil)
	return index, index >= 0
}

func (g groupJSON) check(size int, l limits) error {
	if g.QueryID == "" {
		return fault.New(fault.MissingField, "query_id", "must not be empty")
	}
	if size >= 0 && len(g.Responses) > 0 {
		return invalid("responses", "an open group takes them one by one")
	}
	n := size
	if size < 0 {
		n = len(g.Responses)
	}
	switch {
	case n < 1:
		return invalid("responses", "must hold at least 1")
	case n > l.MaxGroupSize:
		return invalid("responses", "%d are more than max_group_size = %d", n, l.MaxGroupSize)
	case len(g.Eligible) > 0 && len(g.Eligible) != n:
		return invalid("eligible", "has %d entries for %d responses", len(g.Eligible), n)
	case len(g.FormatScores) > 0 && len(g.FormatScores) != n:
		return invalid("format_scores", "has %d entries for %d responses", len(g.FormatScores), n)
	case g.Epoch != nil && *g.Epoch < 0:
		return invalid("epoch", "%d is below 0", *g.Epoch)
	case g.Step != nil && *g.Step < 0:
		return invalid("step", "%d is below 0", *g.Step)
	case len(g.IdempotencyKey) > maxIdempotencyKey:
		return invalid("idempotency_key", "%d bytes are more than %d", len(g.IdempotencyKey), maxIdempotencyKey)
	case len(g.ResultKey) > maxResultKey:
		return invalid("result_key", "%d bytes are more than %d", len(g.ResultKey), maxResultKey)
	case g.AfterCheckpoint < 0:
		return invalid("after_checkpoint", "%d is below 0", g.AfterCheckpoint)
	case g.DeadlineMS != nil && *g.DeadlineMS < 1:
		return invalid("deadline_ms", "%d is below 1", *g.DeadlineMS)
	}
	if err := l.checkQuery(g.query()); err != nil {
		return err
	}
	if len(g.Reference) > l.MaxResponseBytes {
		return invalid("reference", "%d bytes are more than max_response_bytes = %d", len(g.Reference), l.MaxResponseBytes)
	}
	for i, text := range g.Responses {
		if len(text) > l.MaxResponseBytes {
			return invalid(fmt.Sprintf("responses[%d]", i), "%d bytes are more than max_response_bytes = %d", len(text), l.MaxResponseBytes)
		}
	}
	for i, s := range g.FormatScores {
		if s == nil {
			return invalid(fmt.Sprintf("format_scores[%d]", i), "null is not in 0..1")
		}
		if !inUnit(*s) {
			return invalid(fmt.Sprintf("format_scores[%d]", i), "%v is not in 0..1", *s)
		}
	}
	for i, b := range g.Eligible {
		if b == nil {
			return invalid(fmt.Sprintf("eligible[%d]", i), "is neither true nor false")
		}
	}
	return nil
}

func inUnit(s float64) bool { return !math.IsNaN(s) && s >= 0 && s <= 1 }

// query is what the group says of its query; fields may be left out.
func (g groupJSON) query() query.Query {
	return query.Query{ID: g.QueryID, Prompt: g.Query, Rubrics: g.Rubrics, Ranked: g.Ranked}
}

// response fills in what the group says of response i beside its text.
func (g groupJSON) response(i int, text string) rank.Response {
	r := rank.Response{Text: text}
	if len(g.Eligible) > 0 {
		r.Ineligible = !*g.Eligible[i]
	}
	if len(g.FormatScores) > 0 {
		r.Format = g.FormatScores[i]
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

// responseJSON is one response of an open group: a string, or an object.
type responseJSON struct {
	Text        string   `json:"text"`
	Eligible    *bool    `json:"eligible"`
	FormatScore *float64 `json:"format_score"`
}

func decodeResponse(where string, data []byte, l limits) (responseJSON, error) {
	var r responseJSON
	var err error
	if len(data) > 0 && data[0] == '"' {
		err = strict.UnmarshalString(where, data, &r.Text)
	} else {
		err = strict.UnmarshalTexts(where, data, &r, map[string]any{"text": &r.Text})
	}
	switch {
	case err != nil:
		return r, err
	case r.Text == "" && !hasText(data):
		return r, fault.New(fault.MissingField, where+".text", "missing, want a string")
	case len(r.Text) > l.MaxResponseBytes:
		return r, invalid(where, "%d bytes are more than max_response_bytes = %d", len(r.Text), l.MaxResponseBytes)
	case r.FormatScore != nil && !inUnit(*r.FormatScore):
		return r, invalid(where+".format_score", "%v is not in 0..1", *r.FormatScore)
	}
	return r, nil
}

// hasText tells an empty response from none.
func hasText(data []byte) bool {
	if data[0] == '"' {
		return true
	}
	var r struct{ Text *string }
	return json.Unmarshal(data, &r) == nil && r.Text != nil
}

// apply overrides what the group said when it was opened.
func (r responseJSON) apply(to rank.Response) rank.Response {
	if r.Eligible != nil {
		to.Ineligible = !*r.Eligible
	}
	if r.FormatScore != nil {
		to.Format = r.FormatScore
	}
	return to
}

// decodeQuery reads a query with its ranked responses.
func (e *Engine) decodeQuery(data []byte) (query.Query, error) {
	var q query.Query
	texts := map[string]any{"ranked": &q.Ranked}
	if err := strict.UnmarshalTexts("", data, &q, texts); err != nil {
		return q, inDocument("query", err)
	}
	if err := e.limits.checkQuery(q); err != nil {
		return q, ofQuery(q.ID, err)
	}
	q = e.answers(q)
	return q, ofQuery(q.ID, q.Validate())
}

// answers takes the reasoning out of the ranked responses: neither the judge nor
// an anchor may hold it. One without an answer becomes empty, which
// query.Validate refuses.
func (e *Engine) answers(q query.Query) query.Query {
	ranked := make([]string, len(q.Ranked))
	for i, text := range q.Ranked {
		ranked[i] = e.reasoning.Answer(text)
	}
	q.Ranked = ranked
	return q
}

// checkQuery bounds the responses that come with a query.
func (l limits) checkQuery(q query.Query) error {
	for i, text := range q.Ranked {
		if len(text) > l.MaxResponseBytes {
			return invalid(fmt.Sprintf("ranked[%d]", i), "%d bytes are more than max_response_bytes = %d", len(text), l.MaxResponseBytes)
		}
	}
	return nil
}
