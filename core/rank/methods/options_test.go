package methods

import (
	"strings"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/fault"
)

func TestMethodsRefuseBadOptions(t *testing.T) {
	for options, want := range map[string]string{
		`"name": "scr", "votes": 0`:                         "method.scr.votes",
		`"name": "scr", "votes": 1.5`:                       "votes: want an integer",
		`"name": "scr", "aggregate": "borda"`:               "method.scr.aggregate",
		`"name": "scr", "alpha": 0`:                         "method.scr.alpha",
		`"name": "scr", "both_orders": 1`:                   "both_orders: want true or false",
		`"name": "scr", "vote": 2`:                          "method.scr.vote: unknown field",
		`"name": "scr", "format_check": "xml"`:              "method.scr.format_check",
		`"name": "agr", "votes": -1`:                        "method.agr.votes",
		`"name": "agr", "search": "linear"`:                 "method.agr.search",
		`"name": "agr", "anchors": []`:                      "method.agr.anchors",
		`"name": "agr", "anchors": ["a", " "]`:              "method.agr.anchors[1]",
		`"name": "agr", "anchors": ["a", "b", "a"]`:         "method.agr.anchors[2]",
		`"name": "agr", "alpha": -1`:                        "method.agr.alpha",
		`"name": "prc", "votes": 0`:                         "method.prc.votes",
		`"name": "prc", "aggregate": "wins"`:                "method.prc.aggregate",
		`"name": "genrm", "votes": 2`:                       "method.genrm.votes: unknown field",
		`"name": "tournament", "group_size": 1`:             "method.tournament.group_size",
		`"name": "tournament", "k_win": 2`:                  "method.tournament.k_win",
		`"name": "tournament", "group_size": 4, "k_win": 4`: "method.tournament.k_win",
		`"name": "tournament", "k_win": 0`:                  "method.tournament.k_win",
		`"name": "tournament", "k_final": 0`:                "method.tournament.k_final",
		`"name": "tournament", "repeats": 0`:                "method.tournament.repeats",
		`"name": "tournament", "round_weights": []`:         "method.tournament.round_weights",
		`"name": "tournament", "round_weights": [1, -1]`:    "method.tournament.round_weights[1]",
		`"name": "pairwise", "votes": 0`:                    "method.pairwise.votes",
		`"name": "winrate", "votes": 0`:                     "method.winrate.votes",
		`"name": "explicit", "scale": 5`:                    "method.explicit.scale",
		`"name": "listwise", "repeats": 0`:                  "method.listwise.repeats",
		`"name": "rankbuffer", "format_weight": -0.1`:       "format_weight: need a number from 0 to 1e+06, got -0.1",
		`"name": "gdpo", "format_weight": 1e7`:              "format_weight: need a number from 0 to 1e+06, got 1e+07",
		`"name": "gdpo", "format_check": "x"`:               "method.gdpo.format_check",
		`"name": "arena", "k0": 4`:                          "method.arena.k0: unknown field",
		`"name": "implicit", "scale": 3`:                    "method.implicit.scale",
		`"name": "scr", "votes": 100000`:                    "method.scr.votes",
		`"name": "listwise", "repeats": 100000`:             "method.listwise.repeats",
		`"name": "tournament", "round_weights": [0]`:        "method.tournament.round_weights",
		`"name": "tournament", "round_weights": [1e300]`:    "method.tournament.round_weights[0]",
		`"name": "pointwise", "rank_transform": "yes"`:      "rank_transform: want true or false",
	} {
		if _, err := New([]byte(`{` + options + `}`)); err == nil || fault.From(err).Code.Status() != fault.StatusInvalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error about %s", options, err, want)
		}
	}
}

// What a method needs of a group is asked for before any call is paid for.
func TestMethodsRefuseGroupsTheyCannotJudge(t *testing.T) {
	bare := suiteSpec()
	bare.Query.Ranked, bare.Query.Rubrics, bare.Reference = nil, nil, " "
	for options, want := range map[string]string{
		`"name": "prc"`:      "reference: ",
		`"name": "agr"`:      "ranked: ",
		`"name": "explicit"`: "rubrics: ",
		`"name": "gdpo"`:     "rubrics: ",
	} {
		m := method(t, `{`+options+`}`)
		if err := m.Check(bare); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want an error about %s", options, err, want)
		}
		if err := m.Check(suiteSpec()); err != nil {
			t.Errorf("%s: %v", options, err)
		}
	}
	if err := method(t, `{"name": "agr", "anchors": ["x"]}`).Check(bare); err != nil {
		t.Errorf("agr with its own anchors: %v", err)
	}
}

func TestFormatWeights(t *testing.T) {
	want := map[string]float64{ // 0.2 in RankBuffer's comparison, 1 in RRC and Tournament-GRPO
		"rankbuffer": 0.2, "arena": 0.2, "pairwise": 0.2, "pointwise": 0.2, "gdpo": 0.2, "listwise": 0.2,
		"scr": 1, "agr": 1, "prc": 1, "genrm": 1, "tournament": 1, "winrate": 1, "implicit": 1, "explicit": 1,
	}
	for _, row := range Rows() {
		c := method(t, `{"name": "`+row.Name+`"}`).Shared()
		if _, stated := want[row.Name]; !stated {
			t.Errorf("options_test.go: state the format weight of %s", row.Name)
			continue
		}
		if c.FormatWeight != want[row.Name] || c.Name != row.Name || !c.Dedupe || c.FormatCheck != "" {
			t.Errorf("%s: %+v, want the format weight that is stated in this test, %v", row.Name, c, want[row.Name])
		}
	}
}
