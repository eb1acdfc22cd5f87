package engine

import (
	"os"
	"strings"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/fault"
)

func TestCheckConfig(t *testing.T) {
	judge := `"judge": {"type": "simulated", "qualities": {}}`
	with := func(method, queries string) string {
		return `{"config": {"method": {"name": "` + method + `"}, ` + judge + `}, "queries": [` + queries + `]}`
	}
	good := `{"query_id": "a", "query": "?", "ranked": ["x", "y"], "rubrics": [{"text": "clear"}]}`
	for _, tc := range []struct {
		document string
		code     fault.Code
		field    string
	}{
		{`{"config": {"method": {"name": "scr"}, ` + judge + `}}`, "", ""},
		{with("scr", good), "", ""},
		{with("scr", good+`, {"query_id": "a"}`), "", ""}, // known by then
		{with("gdpo", good), "", ""},
		{`{}`, fault.MissingField, "config"},
		{`{"config": {}, "colour": 1}`, fault.UnknownField, "colour"},
		{`{"config": {` + judge + `}}`, fault.MissingField, "method"},
		{`{"config": {"method": {"name": "scr", "voices": 3}, ` + judge + `}}`, fault.UnknownField, "method.scr.voices"},
		{`{"config": {"method": {"name": "scr"}, "judge": {"type": "openai", "base_url": "http://127.0.0.1:1/v1"}}}`, fault.MissingField, "judge.model"},
		{with("scr", good+`, {"query": "?"}`), fault.MissingField, "queries[1].query_id"},
		{with("scr", `{"query_id": "b"}`), fault.MissingField, "queries[0].query"},
		{with("scr", good+`, {"query_id": "a", "query": "Other?"}`), fault.QueryConflict, "queries[1].query"},
		{with("scr", `{"query_id": "b", "query": "?", "ranked": ["only"]}`), fault.InvalidValue, "queries[0].ranked"},
		{with("scr", `{"query_id": "b", "query": "?", "Ranked": []}`), fault.UnknownField, "queries[0].Ranked"},
		{with("agr", `{"query_id": "b", "query": "?"}`), fault.MissingField, "queries[0].ranked"},
		{with("gdpo", `{"query_id": "b", "query": "?"}`), fault.MissingField, "queries[0].rubrics"},
		{with("prc", good), fault.MissingField, "queries[0].reference"},
		{with("prc", strings.Replace(good, `"query":`, `"reference": "r", "query":`, 1)), "", ""},
	} {
		err := CheckConfig([]byte(tc.document))
		if tc.code == "" && err == nil {
			continue
		}
		if got := fault.From(err); got.Code != tc.code || got.Field != tc.field {
			t.Errorf("%s:\ngot %v (%s), want %s about %q", tc.document, err, got.Code, tc.code, tc.field)
		}
	}
}

// It opens neither files nor connections.
func TestCheckConfigOpensNothing(t *testing.T) {
	open := func() int {
		files, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(files)
	}
	before := open()
	for range 10 {
		if err := CheckConfig([]byte(`{"config": {"method": {"name": "scr"}, "judge": {"base_url": "http://127.0.0.1:1/v1", "model": "m"}}}`)); err != nil {
			t.Fatal(err)
		}
	}
	if after := open(); after != before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}
