package rubrics

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/query"
	"github.com/rankbuffer/rankbuffer/tests/ranktest"
)

func TestWrite(t *testing.T) {
	const good = `{"rubrics": [{"text": "It stands.", "weight": 5}, {"text": "It is cheap.", "weight": 2}, {"text": "It is plain.", "weight": 1}]}`
	for name, tt := range map[string]struct {
		answers []string
		query   query.Query
		wrong   string
	}{
		"good":              {[]string{good}, ranktest.Query(), ""},
		"good when reasked": {[]string{`{"rubrics": []}`, good}, ranktest.Query(), ""},
		"never good":        {[]string{`{"rubrics": []}`, `no`}, ranktest.Query(), "rubrics"},
		"no ranked":         {nil, query.Query{ID: "q", Prompt: query.Prompt{Text: "?"}}, "ranked"},
		"no prompt":         {nil, query.Query{ID: "q"}, "query"},
	} {
		asked := 0
		o := &ranktest.Oracle{Say: func(req judge.Request, d prompt.Document) string {
			if req.Kind != prompt.Rubrics || *req.Temperature != 0.2 || req.MaxTokens != 1024 {
				t.Errorf("%s: asked %s at temperature %v, %d tokens", name, req.Kind, *req.Temperature, req.MaxTokens)
			}
			asked++
			return tt.answers[asked-1]
		}}
		got, err := Write(t.Context(), o, nil, tt.query)
		if asked != len(tt.answers) {
			t.Errorf("%s: asked %d times, want %d", name, asked, len(tt.answers))
		}
		if tt.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("%s: error %v, want one about %s", name, err, tt.wrong)
			}
			continue
		}
		want := []query.Rubric{{Text: "It stands.", Weight: 5}, {Text: "It is cheap.", Weight: 2}, {Text: "It is plain.", Weight: 1}}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	_, err := Write(t.Context(), nil, nil, query.Query{ID: "q", Prompt: query.Prompt{Text: "?"}})
	if !errors.Is(err, fault.MissingField) {
		t.Errorf("without ranked responses: %v", err)
	}
}
