package engine

import (
	"fmt"

	"github.com/rankbuffer/rankbuffer/core/query"
	"github.com/rankbuffer/rankbuffer/core/strict"
)

// givenQuery is what a group says of its query. It may leave out what was given
// before.
type givenQuery struct {
	query.Query
	Reference string `json:"reference"` // the response that PRC compares with
}

// decodeQuery reads a query with its ranked responses.
func (e *Engine) decodeQuery(data []byte) (query.Query, error) {
	var q query.Query
	texts := map[string]any{"ranked": &q.Ranked}
	if err := strict.UnmarshalTexts("", data, &q, texts); err != nil {
		return q, inDocument("query", err)
	}
	if err := e.limits.checkQuery(givenQuery{Query: q}); err != nil {
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
func (l limits) checkQuery(q givenQuery) error {
	for i, text := range q.Ranked {
		if err := l.checkText(fmt.Sprintf("ranked[%d]", i), text); err != nil {
			return err
		}
	}
	return l.checkText("reference", q.Reference)
}

func (l limits) checkText(field, text string) error {
	if len(text) <= l.MaxResponseBytes {
		return nil
	}
	return invalid(field, "%d bytes are more than max_response_bytes = %d", len(text), l.MaxResponseBytes)
}
