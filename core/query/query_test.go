package query

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/fault"
)

func valid() Query {
	return Query{ID: "q", Prompt: Prompt{Text: "Why?"}, Rubrics: []Rubric{{"a", 1}}, Ranked: []string{"x", "y"}}
}

func TestValidate(t *testing.T) {
	if err := valid().Validate(); err != nil {
		t.Fatal(err)
	}
	for field, spoil := range map[string]func(*Query){
		"query_id":          func(q *Query) { q.ID = "" },
		"query":             func(q *Query) { q.Prompt = Prompt{} },
		"rubrics[0].text":   func(q *Query) { q.Rubrics = []Rubric{{" ", 1}} },
		"rubrics[1].weight": func(q *Query) { q.Rubrics = []Rubric{{"a", 1}, {"b", 0}} },
		"rubrics[0].weight": func(q *Query) { q.Rubrics = []Rubric{{"a", math.NaN()}} },
		"at least 2":        func(q *Query) { q.Ranked = []string{"x"} },
		"ranked[1]: must":   func(q *Query) { q.Ranked = []string{"x", "\n"} },
		"ranked[1]: is":     func(q *Query) { q.Ranked = []string{"x", "x"} },
	} {
		q := valid()
		spoil(&q)
		err := q.Validate()
		if code := fault.From(err).Code; code != fault.InvalidValue && code != fault.MissingField {
			t.Errorf("%s: got code %s", field, code)
		}
		if !strings.Contains(err.Error(), field) {
			t.Errorf("got %v, want an error naming %s", err, field)
		}
	}
}

func TestCheckSame(t *testing.T) {
	for want, change := range map[string]func(*Query){
		"":        func(q *Query) { *q = Query{ID: "q"} }, // left out is no conflict
		"query":   func(q *Query) { q.Prompt = Prompt{Text: "How?"} },
		"rubrics": func(q *Query) { q.Rubrics = []Rubric{{"a", 2}} },
		"ranked":  func(q *Query) { q.Ranked = []string{"y", "x"} },
	} {
		q := valid()
		change(&q)
		err := valid().CheckSame(q)
		if (err == nil) != (want == "") || err != nil && (!errors.Is(err, fault.QueryConflict) || fault.From(err).Field != want) {
			t.Errorf("got %v, want a conflict about %q", err, want)
		}
	}
}

func TestJSON(t *testing.T) {
	for data, want := range map[string]string{
		`{"query_id":"q","query":"Why?","rubrics":[{"text":"a"}]}`:          `{"query_id":"q","query":"Why?","rubrics":[{"text":"a","weight":1}]}`,
		`{"query_id":"q","query":[{"role":"user","content":"Why?"}]}`:       `{"query_id":"q","query":[{"role":"user","content":"Why?"}],"rubrics":null}`,
		`{"query_id":"q","query":7}`:                                        "must be a string or a list",
		`{"query_id":"q","query":[{"role":"user","text":"Why?"}]}`:          "[0].content: missing",
		`{"query_id":"q","query":"Why?","rubrics":[{"text":"a","wait":1}]}`: "wait",
	} {
		var q Query
		err := json.Unmarshal([]byte(data), &q)
		got, _ := json.Marshal(q)
		if err != nil {
			got = []byte(err.Error())
		}
		if !strings.Contains(string(got), want) {
			t.Errorf("%s: got %s, want %s", data, got, want)
		}
	}
}
