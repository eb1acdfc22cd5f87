package prompt

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/query"
)

var update = flag.Bool("update", false, "write the golden files anew")

var (
	textQuery = query.Prompt{Text: "How do I keep basil alive indoors?"}
	chatQuery = query.Prompt{Messages: []query.Message{
		{Role: "system", Content: "You advise gardeners."},
		{Role: "user", Content: "How do I keep basil alive indoors?"},
	}}
	someRubrics = []query.Rubric{
		{Text: "Names light, water and drainage.", Weight: 5},
		{Text: "Fits a flat without a balcony.", Weight: 2.5},
	}
)

// samples are one request per kind, and the variants of a kind that differ in
// more than content.
func samples() map[string]struct {
	kind Kind
	vars Vars
} {
	anchors := []string{"Buy a new one.", "Water it daily.", "South window,\nwater when dry."}
	manager := Vars{Query: textQuery, Rubrics: someRubrics, Anchors: anchors, Candidates: []string{"Talk to it.", "Six hours of sun, drained pot."},
		Order: []string{"A0", "R0", "A1", "A2", "R1"}, Keep: 4}
	ahead := manager
	ahead.Lookahead = []string{"Use a grow lamp."}
	one := Vars{Query: textQuery, Rubrics: someRubrics, Anchors: anchors, Candidates: []string{"Six hours of sun, drained pot."}}
	chat := one
	chat.Query = chatQuery
	single := one
	single.Rubrics = someRubrics[:1]
	two := Vars{Query: textQuery, Rubrics: someRubrics, Candidates: []string{"Talk to it.", "Water it daily."}}
	many := Vars{Query: textQuery, Rubrics: someRubrics, Candidates: []string{"Talk to it.", "Water it daily.", "South window."}, Winners: 2}
	ranked := Vars{Query: textQuery, Ranked: []string{"South window.", "Water it daily.", "Talk to it."}}
	type sample = struct {
		kind Kind
		vars Vars
	}
	return map[string]sample{
		"coarse": {Coarse, one}, "coarse_chat": {Coarse, chat}, "coarse_order": {CoarseOrder, one},
		"fine": {Fine, many}, "manager": {Manager, manager}, "manager_lookahead": {Manager, ahead},
		"score": {Score, one}, "rubric_score": {RubricScore, single},
		"pair": {Pair, two}, "match": {Match, two}, "select": {Select, many},
		"preference": {Preference, two}, "reasoned": {Reasoned, two}, "label": {Label, one},
		"rubrics": {Rubrics, ranked},
	}
}

func TestGolden(t *testing.T) {
	covered := map[Kind]bool{}
	for name, s := range samples() {
		covered[s.kind] = true
		t.Run(name, func(t *testing.T) {
			messages, err := new(Templates).Render(s.kind, s.vars)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for _, m := range messages {
				fmt.Fprintf(&got, "<%s>\n%s\n", m.Role, m.Content)
			}
			path := filepath.Join("testdata", "golden", name+".txt")
			if *update {
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != string(want) {
				t.Errorf("differs from %s (go test -update rewrites it); got:\n%s", path, got.String())
			}
		})
	}
	for _, kind := range Kinds() {
		if !covered[kind] {
			t.Errorf("no golden file for %s", kind)
		}
	}
}
