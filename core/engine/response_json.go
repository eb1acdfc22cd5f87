package engine

import (
	"encoding/json"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/rank"
	"github.com/rankbuffer/rankbuffer/core/strict"
)

// responseJSON is one response of an open group: a string, or an object.
type responseJSON struct {
	Text        string   `json:"text"`
	Eligible    *bool    `json:"eligible"`
	FormatScore *float64 `json:"format_score"`
}

func decodeResponse(field string, data []byte, l limits) (responseJSON, error) {
	var r responseJSON
	var err error
	if len(data) > 0 && data[0] == '"' {
		err = strict.UnmarshalString(field, data, &r.Text)
	} else {
		err = strict.UnmarshalTexts(field, data, &r, map[string]any{"text": &r.Text})
	}
	switch {
	case err != nil:
		return r, err
	case r.Text == "" && !hasText(data):
		return r, fault.New(fault.MissingField, field+".text", "missing, want a string")
	case r.FormatScore != nil:
		err = checkScore(field+".format_score", *r.FormatScore)
	}
	if err != nil {
		return r, err
	}
	return r, l.checkText(field, r.Text)
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
