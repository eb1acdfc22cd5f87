package engine

import (
	"errors"
	"strings"
	"testing"
)

func TestBadConfig(t *testing.T) {
	const judge = `"judge": {"type": "simulated", "qualities": {}}`
	for config, want := range map[string]string{
		``:                                   "empty",
		`[]`:                                 "config",
		`{` + judge + `}`:                    "method",
		`{"method": {"name": "rankbuffer"}}`: "judge",
		`{"method": {"name": "rankbuffer"}, "judge": {"model": "m"}}`:                                     "base_url",
		`{"method": {"name": "rankbuffer"}, "judge": {"base_url": "http://127.0.0.1:1/v1"}}`:              "model",
		`{"method": {"name": "rankbuffer"}, "judge": {"type": "simulated", "qualities": {}, "sgima": 2}}`: "sgima",
		`{"method": {"name": "rankbuffer", "k0": 1}, ` + judge + `}`:                                      "k0",
		`{"method": {"name": "rankbuffer"}, "jugde": 1, ` + judge + `}`:                                   "jugde",
		`{"method": {"name": "rankbuffer"}, "on_failure": "random", ` + judge + `}`:                       "on_failure",
		`{"method": {"name": "rankbuffer"}, "reasoning": {"open": "<r>", "close": ""}, ` + judge + `}`:    "reasoning.close",
		`{"method": {"name": "rankbuffer"}, "advantage": "ppo", ` + judge + `}`:                           "advantage",
		`{"method": {"name": "rankbuffer"}, "limits": {"max_group_size": 0}, ` + judge + `}`:              "max_group_size",
		`{"method": {"name": "rankbuffer"}, "prompts": {"coarse": "/nowhere/coarse.txt"}, ` + judge + `}`: "/nowhere/coarse.txt",
		`{"method": {"name": "rankbuffer"}, "prompts": {"course": "/nowhere/coarse.txt"}, ` + judge + `}`: "course",
	} {
		e, err := New([]byte(config))
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("New(%s) = %v, want an error naming %s", config, err, want)
		}
		if e != nil {
			t.Errorf("New(%s) returned a scorer with its error", config)
		}
	}
}

func TestBadGroups(t *testing.T) {
	e := open(t, `{"name": "rankbuffer", "init": "ranked"}`, nil)
	scoreNow(t, e, of("q", "t70", "t5"))
	before := anchors(t, e, "q")
	big := strings.Repeat("x", 5<<20)
	for name, tt := range map[string]struct {
		group any
		want  string
		err   error
	}{
		"no id":          {group{"query": "?", "responses": []string{"t1"}}, "query_id", ErrInvalid},
		"empty":          {of("q").with("responses", []string{}), "responses", ErrInvalid},
		"no responses":   {of("q"), "responses", ErrInvalid},
		"other query":    {of("q", "t1").with("query", "How?"), "query: differs", ErrConflict},
		"other rubrics":  {of("q", "t1").with("rubrics", []any{map[string]any{"text": "a"}}), "rubrics: differs", ErrConflict},
		"other ranked":   {of("q", "t1").with("ranked", []string{"t2", "t1"}), "ranked: differs", ErrConflict},
		"unknown query":  {group{"query_id": "new", "responses": []string{"t1"}}, "query: needed", ErrInvalid},
		"no ranked":      {group{"query_id": "new", "query": "?", "responses": []string{"t1"}}, "ranked", ErrInvalid},
		"one ranked":     {of("new", "t1").with("ranked", []string{"t1"}), "at least 2", ErrInvalid},
		"field":          {of("q", "t1").with("response", "t1"), `unknown field "response"`, ErrInvalid},
		"eligible":       {of("q", "t1").with("eligible", []bool{true, false}), "eligible", ErrInvalid},
		"format length":  {of("q", "t1").with("format_scores", []float64{1, 1}), "format_scores", ErrInvalid},
		"format range":   {of("q", "t1").with("format_scores", []float64{1.5}), "format_scores[0]", ErrInvalid},
		"epoch":          {of("q", "t1").with("epoch", -1), "epoch", ErrInvalid},
		"step":           {of("q", "t1").with("step", -1), "step", ErrInvalid},
		"deadline":       {of("q", "t1").with("deadline_ms", 0), "deadline_ms", ErrInvalid},
		"type":           {of("q", "t1").with("epoch", "1"), "epoch: want an integer", ErrInvalid},
		"null":           {of("q").with("responses", []any{"t1", nil}), "responses[1]: is null", ErrInvalid},
		"null format":    {of("q", "t1").with("format_scores", []any{nil}), "format_scores[0]", ErrInvalid},
		"null eligible":  {of("q", "t1").with("eligible", []any{nil}), "eligible[0]", ErrInvalid},
		"role":           {of("new", "t1").with("query", []any{map[string]any{"role": "a b", "content": "?"}}), "query[0].role", ErrInvalid},
		"ranked size":    {of("new", "t1").with("ranked", []string{big, "t1"}), "ranked[0]: 5242880 bytes", ErrInvalid},
		"reference size": {of("q", "t1").with("reference", big), "reference: 5242880 bytes", ErrInvalid},
		"response size":  {of("q", "t1", big), "responses[1]: 5242880 bytes", ErrInvalid},
	} {
		_, err := e.Submit(tt.group.(group).json())
		if !errors.Is(err, tt.err) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %v naming %q", name, err, tt.err, tt.want)
		}
	}
	for name, data := range map[string]string{"UTF-8": "{\"query_id\": \"q\xff\"}", "NaN": `{"query_id": "q", "responses": ["t1"], "format_scores": [NaN]}`} {
		if _, err := e.Submit([]byte(data)); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if after := anchors(t, e, "q"); after != before || e.store.Len() != 1 || len(e.flights) != 0 {
		t.Errorf("bad input changed something: %s to %s, %d queries, %d in flight", before, after, e.store.Len(), len(e.flights))
	}
}

func TestBadOpenGroups(t *testing.T) {
	e := open(t, ranked4, nil)
	if _, err := e.Open(of("q").json(), 0); !errors.Is(err, ErrInvalid) {
		t.Errorf("expected 0: %v", err)
	}
	if _, err := e.Open(of("q", "t1").json(), 1); !errors.Is(err, ErrInvalid) {
		t.Errorf("responses in an open group: %v", err)
	}
	ticket, err := e.Open(of("q").json(), 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Add(ticket, 0, []byte(`"t70"`)); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		ticket uint64
		index  int
		data   string
		want   error
	}{
		"twice":        {ticket, 0, `"t70"`, ErrInvalid},
		"below":        {ticket, -1, `"t70"`, ErrInvalid},
		"beyond":       {ticket, 2, `"t70"`, ErrInvalid},
		"type":         {ticket, 1, `7`, ErrInvalid},
		"null":         {ticket, 1, `null`, ErrInvalid},
		"no text":      {ticket, 1, `{}`, ErrInvalid},
		"field":        {ticket, 1, `{"txt": "t70"}`, ErrInvalid},
		"format":       {ticket, 1, `{"text": "t70", "format_score": 2}`, ErrInvalid},
		"other ticket": {ticket + 1, 1, `"t70"`, ErrUnknown},
	} {
		if err := e.Add(tt.ticket, tt.index, []byte(tt.data)); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", name, err, tt.want)
		}
	}
	if err := e.Add(ticket, 1, []byte(`"t5"`)); err != nil {
		t.Fatal(err)
	}
	wait(t, e, ticket)
	if err := e.CloseGroup(ticket); err != nil {
		t.Errorf("closing an ended group: %v", err)
	}
}
