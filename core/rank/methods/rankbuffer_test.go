package methods

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/buffer"
	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/query"
	"github.com/rankbuffer/rankbuffer/core/rank"
	"github.com/rankbuffer/rankbuffer/core/reward"
)

func ints(ps []*int) []int {
	out := make([]int, len(ps))
	for i, p := range ps {
		out[i] = -1
		if p != nil {
			out[i] = *p
		}
	}
	return out
}

func sources(b *buffer.Buffer) string {
	var out []string
	for _, a := range b.Anchors {
		out = append(out, fmt.Sprintf("%s:%g", a.Source, qualityOf(a.Text)))
	}
	return strings.Join(out, " ")
}

// Anchors of K0 = 4 have qualities 1, 3, 5, 7.
func TestRankBufferOneGroup(t *testing.T) {
	o := &oracle{}
	m := method(t, `{"name": "rankbuffer"}`)
	res, next := score(t, m, o, rank.Spec{Epoch: 2, Step: 9}, responsesOf(
		text(4.2, "a"), text(0.5, "b"), text(4.1, "c"), text(9, "d"), text(8, "e"), text(4.3, "f"), text(2, "g"), text(0.2, "h"),
	), nil)

	if got, want := ints(res.Positions), []int{2, 0, 2, 4, 4, 2, 1, 0}; !slices.Equal(got, want) {
		t.Errorf("positions %v, want %v", got, want)
	}
	if got, want := res.Ranks, []float64{4, 1, 3, 7, 6, 5, 2, 0}; !slices.Equal(got, want) {
		t.Errorf("ranks %v, want %v", got, want)
	}
	for i, r := range res.Rewards {
		if want := -1 + 2*res.Ranks[i]/7; r != want {
			t.Errorf("reward %d is %v, want %v", i, r, want)
		}
	}
	if got, want := res.Calls, map[string]int{"coarse": 8, "fine": 3}; !reflect.DeepEqual(got, want) {
		t.Errorf("calls %v, want %v", got, want)
	}
	// Worst of C_0 below, the lower median of the three in C_2, best of C_4 above.
	want := "left:0.2 ranked:1 ranked:3 refine:4.2 ranked:5 ranked:7 right:9"
	if got := sources(next); got != want {
		t.Errorf("buffer %s, want %s", got, want)
	}
	if a := next.Anchors[0]; a.Epoch != 2 || a.Step != 9 {
		t.Errorf("new anchor says epoch %d step %d, want 2 and 9", a.Epoch, a.Step)
	}
	if res.AnchorsBefore != 4 || res.GroupStatus != rank.OK {
		t.Errorf("anchors before %d, status %s", res.AnchorsBefore, res.GroupStatus)
	}
	if got, want := *res.Progress[6], 0.25; got != want {
		t.Errorf("progress %v, want %v", got, want)
	}
}

func TestRankBufferVariants(t *testing.T) {
	group := responsesOf(text(4.2, "a"), text(0.5, "b"), text(4.1, "c"), text(9, "d"), text(4.3, "f"))
	for name, tt := range map[string]struct {
		options string
		ranks   []float64
		calls   map[string]int
		buffer  string
	}{
		"k0 2": {`"k0": 2`, []float64{2, 0, 1, 4, 3}, map[string]int{"coarse": 5, "fine": 1},
			"left:0.5 ranked:1 refine:4.2 ranked:7 right:9"},
		"k0 7": {`"k0": 7`, []float64{2, 0, 1, 4, 3}, map[string]int{"coarse": 5, "fine": 1},
			"left:0.5 ranked:1 ranked:2 ranked:3 ranked:4 refine:4.2 ranked:5 ranked:6 ranked:7 right:9"},
		"k0 above n": {`"k0": 30`, []float64{2, 0, 1, 4, 3}, map[string]int{"coarse": 5, "fine": 1},
			"left:0.5 ranked:1 ranked:2 ranked:3 ranked:4 refine:4.2 ranked:5 ranked:6 ranked:7 right:9"},
		"max anchors": {`"max_anchors": 4`, []float64{2, 0, 1, 4, 3}, map[string]int{"coarse": 5, "fine": 1},
			"left:0.5 ranked:3 ranked:5 right:9"},
		// The order within a crowded interval is unknown then; its middle one in
		// presentation order is added.
		"coarse only": {`"coarse_only": true`, []float64{2, 0, 2, 4, 2}, map[string]int{"coarse": 5},
			"left:0.5 ranked:1 ranked:3 refine:4.3 ranked:5 ranked:7 right:9"},
		"manager": {`"manager": "llm"`, []float64{2, 0, 1, 4, 3}, map[string]int{"coarse": 5, "fine": 1, "manager": 1},
			"llm:0.5 llm:4.1 llm:4.3 llm:9"},
		"look-ahead": {`"manager": "llm_lookahead"`, []float64{2, 0, 1, 4, 3}, map[string]int{"coarse": 5, "fine": 1},
			"ranked:1 ranked:3 ranked:5 ranked:7"},
		"bootstrap": {`"init": "bootstrap"`, []float64{2, 0, 1, 4, 3}, map[string]int{"fine": 1},
			"bootstrap:0.5 bootstrap:4.1 bootstrap:4.3 bootstrap:9"},
	} {
		t.Run(name, func(t *testing.T) {
			res, next := score(t, method(t, `{"name": "rankbuffer", `+tt.options+`}`), &oracle{}, rank.Spec{}, group, nil)
			if !slices.Equal(res.Ranks, tt.ranks) {
				t.Errorf("ranks %v, want %v", res.Ranks, tt.ranks)
			}
			if !reflect.DeepEqual(res.Calls, tt.calls) {
				t.Errorf("calls %v, want %v", res.Calls, tt.calls)
			}
			if got := sources(next); tt.buffer != "" && got != tt.buffer {
				t.Errorf("buffer %s, want %s", got, tt.buffer)
			}
		})
	}
}

func TestOrderOnlyHidesAnchorTexts(t *testing.T) {
	o := &oracle{}
	res, _ := score(t, method(t, `{"name": "rankbuffer", "order_only": true}`), o, rank.Spec{}, responsesOf(text(1, "a"), text(9, "b")), nil)
	if got := ints(res.Positions); !slices.Equal(got, []int{1, 1}) {
		t.Errorf("positions %v", got)
	}
	for _, d := range o.Asked {
		if d.Kind == prompt.CoarseOrder && (d.AnchorCount != 4 || len(d.Anchors) > 0 && d.Anchors[0].Body != "") {
			t.Errorf("order-only call shows %d anchors with text %q", d.AnchorCount, d.Anchors[0].Body)
		}
	}
	if o.Calls(prompt.CoarseOrder) != 2 || o.Calls(prompt.Fine) != 1 {
		t.Errorf("asked %d order-only and %d fine calls, want 2 and 1", o.Calls(prompt.CoarseOrder), o.Calls(prompt.Fine))
	}
}

func TestMaintenanceOptionsReachTheBuffer(t *testing.T) {
	run := func(options string, groups int) *buffer.Buffer {
		m := method(t, `{"name": "rankbuffer", `+options+`}`)
		var b *buffer.Buffer
		for i := range groups { // all above the scale: the inner anchors see nobody
			_, b = score(t, m, &oracle{}, rank.Spec{Buffer: b, Epoch: i}, responsesOf(text(float64(20+i), "a"), text(float64(20+i)+0.5, "b")), nil)
		}
		return b
	}
	for _, tt := range []struct {
		options string
		groups  int
		want    string
	}{
		{`"freeze_after_epochs": 1`, 3, "ranked:1 ranked:3 ranked:5 ranked:7 right:20.5"},
		{`"freeze_after_epochs": 2`, 3, "ranked:1 ranked:3 ranked:5 ranked:7 right:20.5 right:21.5"},
		{`"prune_after_epochs": 2`, 1, "ranked:1 ranked:3 ranked:5 ranked:7 right:20.5"},
		{`"prune_after_epochs": 2`, 2, "ranked:1 ranked:7 right:20.5 right:21.5"},
		{`"prune_after_epochs": 3`, 2, "ranked:1 ranked:3 ranked:5 ranked:7 right:20.5 right:21.5"},
		{`"prune_after_epochs": 3`, 3, "ranked:1 ranked:7 right:20.5 right:21.5 right:22.5"},
	} {
		if got := sources(run(tt.options, tt.groups)); got != tt.want {
			t.Errorf("%s after %d groups: %s, want %s", tt.options, tt.groups, got, tt.want)
		}
	}
}

func TestRepeatedAnchorIsJudgedAndNotAdded(t *testing.T) {
	o := &oracle{}
	res, next := score(t, method(t, `{"name": "rankbuffer"}`), o, rank.Spec{}, responsesOf(text(1, "ranked"), text(6, "b")), nil)
	if res.Calls["coarse"] != 2 || *res.Positions[0] != 0 {
		t.Errorf("calls %v, position %d", res.Calls, *res.Positions[0])
	}
	if got := sources(next); got != "ranked:1 ranked:3 ranked:5 ranked:7" || !next.Seen[0].Left {
		t.Errorf("buffer %s, left boundary marked: %t", got, next.Seen[0].Left)
	}
}

func TestBootstrapNeedsTwoAnswers(t *testing.T) {
	for _, options := range []string{`"init": "bootstrap"`, `"init": "bootstrap", "dedupe": false`} {
		res, next := score(t, method(t, `{"name": "rankbuffer", `+options+`}`), &oracle{}, rank.Spec{}, responsesOf(text(3, "a"), text(3, "a"), ""), nil)
		if next != nil || res.GroupStatus != rank.OK || res.Rewards[2] != -1 {
			t.Errorf("%s: buffer started: %t, %+v", options, next != nil, res)
		}
	}
}

func TestFailedTakesNoFormatReward(t *testing.T) {
	one := 1.0
	o := &oracle{Fail: func(d prompt.Document) error {
		if d.Kind == prompt.Coarse && qualityOf(d.Candidates[0].Body) == 6 {
			return errors.New("down")
		}
		return nil
	}}
	group := []rank.Response{{Text: text(2, "a")}, {Text: text(6, "b"), Format: &one}, {Text: text(9, "c"), Format: &one}}
	res, _ := score(t, method(t, `{"name": "rankbuffer"}`), o, rank.Spec{}, group, nil)
	if mean := (res.Rewards[0] + res.Rewards[2]) / 2; res.Rewards[0] != -1 || res.Rewards[2] != 1.2 || res.Rewards[1] != mean {
		t.Errorf("rewards %v, want -1, their mean and 1.2", res.Rewards)
	}
}

func TestTheSameFailureIsToldEveryTime(t *testing.T) {
	o := &oracle{Fail: func(d prompt.Document) error { return fmt.Errorf("down at %s", d.Candidates[0].Body) }}
	group := responsesOf(text(2, "a"), text(6, "b"), text(9, "c"), text(1, "d"))
	first, _ := score(t, method(t, `{"name": "rankbuffer"}`), o, rank.Spec{}, group, nil)
	for range 20 {
		if res, _ := score(t, method(t, `{"name": "rankbuffer"}`), o, rank.Spec{}, group, nil); res.Error != first.Error {
			t.Fatalf("error %q, then %q", first.Error, res.Error)
		}
	}
}

// Text, code and summary are those of one failure, the first by its text; the
// summary quotes nobody.
func TestTheFailureHasACode(t *testing.T) {
	o := &oracle{Fail: func(d prompt.Document) error {
		if qualityOf(d.Candidates[0].Body) > 5 {
			return judge.Fail(fault.JudgeUnauthorized, "judge.api_key", "401: who are you?")
		}
		return judge.Fail(fault.JudgeServerError, "", "500: out of memory")
	}}
	res, _ := score(t, method(t, `{"name": "rankbuffer"}`), o, rank.Spec{}, responsesOf(text(2, "a"), text(6, "b"), text(9, "c")), nil)
	if res.Error != "coarse call: 500: out of memory" || res.ErrorCode != fault.JudgeServerError ||
		res.ErrorSummary != fault.JudgeServerError.Summary() {
		t.Errorf("error %q, code %s, summary %q", res.Error, res.ErrorCode, res.ErrorSummary)
	}
	res, _ = score(t, method(t, `{"name": "rankbuffer"}`), &oracle{}, rank.Spec{}, responsesOf(text(2, "a"), text(6, "b")), nil)
	if res.Error != "" || res.ErrorCode != "" || res.ErrorSummary != "" {
		t.Errorf("nothing failed: error %q, code %q, summary %q", res.Error, res.ErrorCode, res.ErrorSummary)
	}
}

func TestRankBufferFailures(t *testing.T) {
	group := responsesOf(text(4.2, "a"), text(0.5, "b"), text(4.1, "c"), text(9, "d"))
	t.Run("coarse", func(t *testing.T) {
		o := &oracle{Fail: func(d prompt.Document) error {
			if d.Kind == prompt.Coarse && qualityOf(d.Candidates[0].Body) == 9 {
				return errors.New("down")
			}
			return nil
		}}
		res, next := score(t, method(t, `{"name": "rankbuffer"}`), o, rank.Spec{}, group, nil)
		if next != nil {
			t.Error("a group with a failed call changed the buffer")
		}
		if want := []rank.Status{rank.OK, rank.OK, rank.OK, rank.JudgeFailed}; !slices.Equal(res.Status, want) || res.GroupStatus != rank.Partial {
			t.Errorf("status %v %s, want %v partial", res.Status, res.GroupStatus, want)
		}
		if want := []float64{1, -1, 0, 0}; !slices.Equal(res.Rewards, want) {
			t.Errorf("rewards %v, want %v", res.Rewards, want)
		}
		if res.Advantages[3] != 0 || res.Positions[3] != nil || !strings.Contains(res.Error, "down") {
			t.Errorf("advantage %v, position %v, error %q", res.Advantages[3], res.Positions[3], res.Error)
		}
	})
	t.Run("fine", func(t *testing.T) {
		o := &oracle{Fail: func(d prompt.Document) error {
			if d.Kind == prompt.Fine {
				return errors.New("down")
			}
			return nil
		}}
		res, next := score(t, method(t, `{"name": "rankbuffer"}`), o, rank.Spec{}, group, nil)
		if next != nil || res.GroupStatus != rank.Partial {
			t.Errorf("buffer changed: %t, status %s, want partial", next != nil, res.GroupStatus)
		}
		if want := []float64{1.5, 0, 1.5, 3}; !slices.Equal(res.Ranks, want) {
			t.Errorf("ranks %v, want the bucket tied: %v", res.Ranks, want)
		}
	})
	t.Run("all", func(t *testing.T) {
		o := &oracle{Fail: func(prompt.Document) error { return errors.New("down") }}
		for _, init := range []string{"ranked", "bootstrap"} {
			res, next := score(t, method(t, `{"name": "rankbuffer", "init": "`+init+`"}`), o, rank.Spec{}, group, nil)
			if next != nil || res.GroupStatus != rank.GroupFailed || !slices.Equal(res.Rewards, make([]float64, 4)) {
				t.Errorf("%s: buffer changed: %t, status %s, rewards %v", init, next != nil, res.GroupStatus, res.Rewards)
			}
		}
	})
}

func TestRankBufferValidationAndSingle(t *testing.T) {
	m := method(t, `{"name": "rankbuffer"}`)
	res, next := score(t, m, &oracle{}, rank.Spec{Validate: true}, responsesOf(text(9, "a"), text(4, "b"), text(4, "b"), " "), nil)
	if want := []float64{1, 0, 0, -1}; !slices.Equal(res.Rewards, want) || next != nil {
		t.Errorf("rewards %v, want %v; buffer changed: %t", res.Rewards, want, next != nil)
	}
	res, next = score(t, m, &oracle{}, rank.Spec{}, responsesOf(text(9, "a")), nil)
	if !slices.Equal(res.Rewards, []float64{1}) || res.Advantages[0] != 0 || sources(next) != "ranked:1 ranked:3 ranked:5 ranked:7 right:9" {
		t.Errorf("single: rewards %v, advantages %v, buffer %s", res.Rewards, res.Advantages, sources(next))
	}
	boot := method(t, `{"name": "rankbuffer", "init": "bootstrap"}`)
	o := &oracle{}
	res, next = score(t, boot, o, rank.Spec{Validate: true}, responsesOf(text(9, "a"), text(4, "b")), nil)
	if !slices.Equal(res.Rewards, []float64{0, 0}) || next != nil || len(o.Asked) != 0 {
		t.Errorf("no buffer: rewards %v, %d calls", res.Rewards, len(o.Asked))
	}
	if why, _ := res.Detail["unjudged"].(string); !strings.Contains(why, "no buffer yet and validation starts none: rewards are 0") {
		t.Errorf("no buffer: detail %v", res.Detail)
	}
}

func TestRankBufferSharedRules(t *testing.T) {
	group := []rank.Response{
		{Text: text(4, "a")}, {Text: "  \n"}, {Text: "<think>x</think>" + text(8, "b")},
		{Text: text(4, "a")}, {Text: "<think>never closed " + text(9, "z")}, {Text: text(9, "c"), Ineligible: true},
	}
	o := &oracle{}
	res, next := score(t, method(t, `{"name": "rankbuffer"}`), o, rank.Spec{}, group, nil)
	if want := []rank.Status{rank.OK, rank.Empty, rank.OK, rank.OK, rank.Empty, rank.Ineligible}; !slices.Equal(res.Status, want) {
		t.Errorf("status %v, want %v", res.Status, want)
	}
	if want := []float64{3.5, 1, 5, 3.5, 1, 1}; !slices.Equal(res.Ranks, want) {
		t.Errorf("ranks %v, want %v", res.Ranks, want)
	}
	tied := reward.Linear(3.5, 6)
	if want := []float64{tied, -1, 1, tied, -1, -1}; !slices.Equal(res.Rewards, want) {
		t.Errorf("rewards %v, want %v", res.Rewards, want)
	}
	if res.Calls["coarse"] != 2 || res.Calls["fine"] != 0 {
		t.Errorf("calls %v, want 2 coarse (identical responses are judged once)", res.Calls)
	}
	if got, want := sources(next), "ranked:1 ranked:3 ranked:5 ranked:7 right:8"; got != want {
		t.Errorf("buffer %s, want %s", got, want)
	}
	if got := next.Anchors[4].Text; got != text(8, "b") {
		t.Errorf("anchor keeps %q, want the answer alone", got)
	}
}

func TestRankBufferFormatReward(t *testing.T) {
	half := 0.5
	group := []rank.Response{{Text: text(4, "a")}, {Text: text(9, "b"), Format: &half}}
	m := method(t, `{"name": "rankbuffer", "format_check": "think_answer", "format_weight": 0.5}`)
	res, _ := score(t, m, &oracle{}, rank.Spec{}, group, nil)
	if want := []float64{-1, 1.25}; !slices.Equal(res.Rewards, want) {
		t.Errorf("rewards %v, want %v", res.Rewards, want)
	}
}

func TestRankBufferArrivalOrder(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		group := randomResponses(r, 2+r.IntN(15))
		if r.IntN(2) == 0 {
			group = append(group, group[0], rank.Response{Text: ""})
		}
		options := []string{`{"name": "rankbuffer"}`, `{"name": "rankbuffer", "coarse_only": true}`,
			`{"name": "rankbuffer", "dedupe": false}`, `{"name": "rankbuffer", "init": "bootstrap"}`}[r.IntN(4)]
		m := method(t, options)
		want, wantBuffer := score(t, m, &oracle{}, rank.Spec{}, group, nil)
		got, gotBuffer := score(t, m, &oracle{}, rank.Spec{}, group, r.Perm(len(group)))
		if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(gotBuffer, wantBuffer) {
			t.Errorf("seed %d, %s: arrival order changed the result:\n got %+v\nwant %+v", seed, options, got, want)
		}
	}
}

func TestRankBufferBadOptions(t *testing.T) {
	for options, field := range map[string]string{
		`{"name": "rankbuffer", "k0": 1}`:                  "k0",
		`{"name": "rankbuffer", "k0": "4"}`:                "k0",
		`{"name": "rankbuffer", "kO": 4}`:                  "kO",
		`{"name": "rankbuffer", "init": "nectar"}`:         "init",
		`{"name": "rankbuffer", "max_anchors": 1}`:         "max_anchors",
		`{"name": "rankbuffer", "max_anchors": 3}`:         "max_anchors",
		`{"name": "rankbuffer", "prune_after_epochs": 0}`:  "prune_after_epochs",
		`{"name": "rankbuffer", "freeze_after_epochs": 0}`: "freeze_after_epochs",
		`{"name": "rankbuffer", "manager": "human"}`:       "manager",
		`{"name": "rankbuffer", "format_check": "xml"}`:    "format_check",
		`{"name": "rankbuffre"}`:                           "rankbuffre",
		`{}`:                                               "method.name",
		`{"name": "rankbuffer"} {}`:                        "after top-level value",
	} {
		if _, err := New([]byte(options)); err == nil || fault.From(err).Code.Status() != fault.StatusInvalid || !strings.Contains(err.Error(), field) {
			t.Errorf("New(%s) = %v, want an error naming %s", options, err, field)
		}
	}
	m := method(t, `{"name": "rankbuffer", "init": "ranked"}`).(rank.Starter)
	if _, err := m.Start(query.Query{ID: "q"}); err == nil || !strings.Contains(err.Error(), "ranked") {
		t.Errorf("ranked start without ranked responses: %v", err)
	}
}
