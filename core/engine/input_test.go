package engine

import (
	"errors"
	"github.com/rankbuffer/rankbuffer/core/fault"
	"strings"
	"testing"
)

func TestBadConfig(t *testing.T) {
	const judge = `"judge": {"type": "simulated", "qualities": {}}`
	for config, want := range map[string]string{
		``:                                   "config: not valid JSON",
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
		`{"method": {"name": "rankbuffer"}, "max_group_size": 0, ` + judge + `}`:                          "max_group_size",
		`{"method": {"name": "rankbuffer"}, "prompts": {"coarse": "/nowhere/coarse.txt"}, ` + judge + `}`: "/nowhere/coarse.txt",
		`{"method": {"name": "rankbuffer"}, "prompts": {"course": "/nowhere/coarse.txt"}, ` + judge + `}`: "course",
	} {
		e, err := New([]byte(config))
		if fault.From(err).Code.Status() != fault.StatusInvalid || !strings.Contains(err.Error(), want) {
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
		"no id":          {group{"query": "?", "responses": []string{"t1"}}, "query_id", fault.MissingField},
		"empty":          {of("q").with("responses", []string{}), "responses", fault.InvalidValue},
		"no responses":   {of("q"), "responses", fault.InvalidValue},
		"other query":    {of("q", "t1").with("query", "How?"), "query: differs", fault.QueryConflict},
		"other rubrics":  {of("q", "t1").with("rubrics", []any{map[string]any{"text": "a"}}), "rubrics: differs", fault.QueryConflict},
		"other ranked":   {of("q", "t1").with("ranked", []string{"t2", "t1"}), "ranked: differs", fault.QueryConflict},
		"unknown query":  {group{"query_id": "new", "responses": []string{"t1"}}, "query: needed", fault.MissingField},
		"no ranked":      {group{"query_id": "new", "query": "?", "responses": []string{"t1"}}, "ranked", fault.MissingField},
		"one ranked":     {of("new", "t1").with("ranked", []string{"t1"}), "at least 2", fault.InvalidValue},
		"field":          {of("q", "t1").with("response", "t1"), `response: unknown field; did you mean "responses"?`, fault.UnknownField},
		"eligible":       {of("q", "t1").with("eligible", []bool{true, false}), "eligible", fault.InvalidValue},
		"format length":  {of("q", "t1").with("format_scores", []float64{1, 1}), "format_scores", fault.InvalidValue},
		"format range":   {of("q", "t1").with("format_scores", []float64{1.5}), "format_scores[0]", fault.InvalidValue},
		"epoch":          {of("q", "t1").with("epoch", -1), "epoch", fault.InvalidValue},
		"step":           {of("q", "t1").with("step", -1), "step", fault.InvalidValue},
		"deadline":       {of("q", "t1").with("deadline_ms", 0), "deadline_ms", fault.InvalidValue},
		"type":           {of("q", "t1").with("epoch", "1"), "epoch: want an integer", fault.InvalidValue},
		"null":           {of("q").with("responses", []any{"t1", nil}), "responses[1]: is null", fault.InvalidValue},
		"null format":    {of("q", "t1").with("format_scores", []any{nil}), "format_scores[0]", fault.InvalidValue},
		"null eligible":  {of("q", "t1").with("eligible", []any{nil}), "eligible[0]", fault.InvalidValue},
		"role":           {of("new", "t1").with("query", []any{map[string]any{"role": "a b", "content": "?"}}), "query[0].role", fault.InvalidValue},
		"ranked size":    {of("new", "t1").with("ranked", []string{big, "t1"}), "ranked[0]: 5242880 bytes", fault.InvalidValue},
		"reference size": {of("q", "t1").with("reference", big), "reference: 5242880 bytes", fault.InvalidValue},
		"response size":  {of("q", "t1", big), "responses[1]: 5242880 bytes", fault.InvalidValue},
	} {
		_, err := e.Submit(tt.group.(group).json())
		if !errors.Is(err, tt.err) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %v naming %q", name, err, tt.err, tt.want)
		}
	}
	for name, data := range map[string]string{"UTF-8": "{\"query_id\": \"q\xff\"}", "NaN": `{"query_id": "q", "responses": ["t1"], "format_scores": [NaN]}`} {
		if _, err := e.Submit([]byte(data)); fault.From(err).Code.Status() != fault.StatusInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if after := anchors(t, e, "q"); after != before || e.store.Len() != 1 || len(e.flights) != 0 {
		t.Errorf("bad input changed something: %s to %s, %d queries, %d in flight", before, after, e.store.Len(), len(e.flights))
	}
}

func TestBadOpenGroups(t *testing.T) {
	e := open(t, ranked4, nil)
	if _, err := e.Open(of("q").json(), 0); !errors.Is(err, fault.InvalidValue) {
		t.Errorf("expected 0: %v", err)
	}
	if _, err := e.Open(of("q", "t1").json(), 1); !errors.Is(err, fault.InvalidValue) {
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
		"twice":        {ticket, 0, `"t70"`, fault.InvalidValue},
		"below":        {ticket, -1, `"t70"`, fault.InvalidValue},
		"beyond":       {ticket, 2, `"t70"`, fault.InvalidValue},
		"type":         {ticket, 1, `7`, fault.InvalidValue},
		"null":         {ticket, 1, `null`, fault.MissingField},
		"no text":      {ticket, 1, `{}`, fault.MissingField},
		"field":        {ticket, 1, `{"txt": "t70"}`, fault.UnknownField},
		"format":       {ticket, 1, `{"text": "t70", "format_score": 2}`, fault.InvalidValue},
		"other ticket": {ticket + 1, 1, `"t70"`, fault.UnknownGroup},
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
