package methods

import (
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/rank"
)

var update = flag.Bool("update", false, "write testdata/methods.json")

// described is what the classes of python/rankbuffer/methods.py must agree with.
type described struct {
	Options    map[string]any `json:"options"`     // with their defaults
	NeedsGroup bool           `json:"needs_group"` // one response alone gets no reward of its own
}

func describe(t *testing.T) []byte {
	t.Helper()
	all := map[string]described{}
	for _, row := range Rows() {
		var d described
		data := mustJSON(row.New())
		if err := json.Unmarshal([]byte(data), &d.Options); err != nil {
			t.Fatal(err)
		}
		delete(d.Options, "name")
		for name, value := range d.Options {
			if value == "" {
				d.Options[name] = nil
			}
		}
		alone, _ := score(t, method(t, `{"name": "`+row.Name+`"}`), &oracle{}, withoutRanked(suiteSpec(), row.New()), ascending(1), nil)
		d.NeedsGroup = alone.Detail["unjudged"] != nil
		all[row.Name] = d
	}
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(data, '\n')
}

// withoutRanked takes away what a method can do without.
func withoutRanked(spec rank.Spec, m rank.Method) rank.Spec {
	bare := spec
	bare.Query.Ranked = nil
	if m.Check(bare) != nil {
		return spec
	}
	return bare
}

// tests/python/test_methods.py holds the Python classes to the same file.
func TestMethodsAreDescribed(t *testing.T) {
	const file = "testdata/methods.json"
	got := describe(t)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s does not have the methods, options and defaults of the registry: run go test ./core/rank/methods -run %s -update,"+
			" then make python/rankbuffer/methods.py agree with it", file, t.Name())
	}
}

func TestEveryMethodHasAFile(t *testing.T) {
	for _, row := range Rows() {
		if _, err := os.Stat(row.Name + ".go"); err != nil {
			t.Errorf("method %s is not in a file named after it: %v", row.Name, err)
		}
	}
}
