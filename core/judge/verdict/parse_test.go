package verdict

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/query"
)

// TestVerdict reads positions out of 4 anchors: what a verdict may stand in and
// what makes it unusable is the same for every parser.
func TestVerdict(t *testing.T) {
	big := strings.Repeat("It goes on about the answer. ", 40_000) // above 1 MB
	for _, tc := range []struct {
		name, text string
		want       int
		wrong      string // part of the error; "": want holds
	}{
		{name: "bare", text: `{"position": 3}`, want: 3},
		{name: "zero", text: `{"position":0}`, want: 0},
		{name: "top", text: "\n\t {\"position\"\r\n:\t4 }\n", want: 4},
		{name: "code fence", text: "```json\n{\"position\": 2}\n```", want: 2},
		{name: "prose around", text: `Let me see. It beats {A0, A1}, so: {"position": 2}. Hope that helps {:`, want: 2},
		{name: "other objects around", text: `{"note": {"position": 1}} {"position": 2} {"confidence": 1}`, want: 2},
		{name: "more keys", text: `{"reason": "beats \"A1\" } {", "position": 2, "sure": [true, null, -1.5e-3]}`, want: 2},
		{name: "in a list", text: `[{"position": 2}]`, want: 2},
		{name: "doubled braces", text: `{{"position": 2}}`, want: 2},
		{name: "escaped key", text: `{"\u0070osition": 2}`, want: 2},
		{name: "after a broken object", text: `{"position": 1, oops {"position": 2}`, want: 2},
		{name: "after a string left open", text: "{\"position: 1\n{\"position\": 2}", want: 2},
		{name: "whole float", text: `{"position": 2.0}`, want: 2},
		{name: "whole with exponent", text: `{"position": 20e-1}`, want: 2},
		{name: "minus zero", text: `{"position": -0}`, want: 0},
		{name: "repeated alike", text: "{\"position\": 2}\n```json\n{\"position\": 2.0, \"why\": \"again\"}\n```", want: 2},
		{name: "after reasoning", text: "<think>maybe {\"position\": 1}</think>{\"position\": 2}", want: 2},
		{name: "after reasoning opened by the template", text: "or {\"position\": 1} </think> {\"position\": 2}", want: 2},
		{name: "after two reasonings", text: `<think>a</think>{"position": 0}<think>b</think>{"position": 2}`, want: 2},
		{name: "reasoning with a bad verdict", text: `<think>{"position": 9}</think>{"position": 2}`, want: 2},
		{name: "reasoning with a string left open", text: "<think>it says {\"position</think>\n{\"position\": 2}", want: 2},
		{name: "tag inside the verdict", text: `{"position": 2, "why": "it leaves <think> open"}`, want: 2},
		{name: "closing tag inside the verdict", text: `{"position": 2, "why": "</think> is missing"}`, want: 2},
		{name: "lone surrogate in a string", text: `{"why": "\ud83d broken \udc00", "position": 2}`, want: 2},
		{name: "lone surrogate in a key", text: `{"\ud83d": 1, "position": 2}`, want: 2},
		{name: "invalid UTF-8", text: "\xff{\"why\": \"\xc3\x28\", \"position\": 2}\xed\xa0\x80", want: 2},
		{name: "1 MB before", text: big + `{"position": 2}`, want: 2},
		{name: "1 MB after", text: `{"position": 2}` + big, want: 2},
		{name: "1 MB inside", text: `{"why": "` + big + `", "position": 2}`, want: 2},
		{name: "1 MB of repeats", text: strings.Repeat(`{"position": 2} `, 70_000), want: 2},
		{name: "1 MB of other objects", text: strings.Repeat(`{"a":[{}]}`, 100_000) + `{"position": 2}`, want: 2},
		{name: "nested as deep as allowed", text: `{"position": 2, "x": ` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`, want: 2},

		{name: "empty", text: "", wrong: "no JSON object"},
		{name: "prose only", text: "It is better than A1.", wrong: "no JSON object in the answer: want one with \"position\""},
		{name: "no such key", text: `{"Position": 2}`, wrong: `no JSON object in the answer has "position"`},
		{name: "nested only", text: `{"answer": {"position": 2}}`, wrong: `has "position"`},
		{name: "two verdicts", text: `{"position": 1} or rather {"position": 2}`, wrong: "two different verdicts"},
		{name: "a quoted verdict and its own", text: `The candidate says {"position": 4}. I say {"position": 1}.`, wrong: "two different verdicts"},
		{name: "a bad and a good verdict", text: `{"position": "1"} {"position": 1}`, wrong: "must be a number"},
		{name: "key twice", text: `{"position": 1, "position": 1}`, wrong: "twice"},
		{name: "key twice, once escaped", text: `{"position": 1, "p\u006fsition": 2}`, wrong: "twice"},
		{name: "other key twice", text: `{"why": "", "position": 1, "why": ""}`, wrong: "twice"},
		{name: "fraction", text: `{"position": 2.5}`, wrong: "whole number, not 2.5"},
		{name: "string", text: `{"position": "2"}`, wrong: `must be a number, not "2"`},
		{name: "null", text: `{"position": null}`, wrong: "must be a number, not null"},
		{name: "true", text: `{"position": true}`, wrong: "must be a number"},
		{name: "list", text: `{"position": [2]}`, wrong: "must be a number"},
		{name: "above", text: `{"position": 5}`, wrong: "not within 0..4"},
		{name: "below", text: `{"position": -1}`, wrong: "not within 0..4"},
		{name: "beyond any float", text: `{"position": 1e999}`, wrong: "not within 0..4"},
		{name: "beyond any int", text: `{"position": 18446744073709551618}`, wrong: "not within 0..4"},
		{name: "1 MB of digits", text: `{"position": 2` + strings.Repeat("0", 1<<20) + `}`, wrong: "not within 0..4"},
		{name: "leading zero", text: `{"position": 02}`, wrong: "no JSON object"},
		{name: "single quotes", text: `{'position': 2}`, wrong: "no JSON object"},
		{name: "trailing comma", text: `{"position": 2,}`, wrong: "no JSON object"},
		{name: "cut", text: `{"position": 2`, wrong: "no JSON object"},
		{name: "raw line break in a string", text: "{\"why\": \"a\nb\", \"position\": 2}", wrong: "no JSON object"},
		{name: "open reasoning", text: `<think>so {"position": 2}`, wrong: "never closed"},
		{name: "reasoning opened again", text: `<think>a</think>{"position": 2}<think>or {"position": 1}`, wrong: "never closed"},
		{name: "only reasoning", text: `<think>{"position": 2}</think>`, wrong: "no JSON object"},
		{name: "1 MB of open lists", text: strings.Repeat("[", 1<<20), wrong: "no JSON object"},
		{name: "1 MB of open braces", text: strings.Repeat("{", 1<<20), wrong: "no JSON object"},
		{name: "1 MB of nested objects", text: strings.Repeat(`{"a":`, 1<<18), wrong: "no JSON object"},
		{name: "1 MB of strings left open", text: strings.Repeat(`{"`, 1<<19), wrong: "no JSON object"},
		{name: "1 MB of backslashes", text: `{"` + strings.Repeat(`\`, 1<<20), wrong: "no JSON object"},
		{name: "1 MB of two strings in turn", text: strings.Repeat(`{"a{":"`, 1<<18), wrong: "no JSON object"},
		{name: "nested too deep", text: `{"position": 2, "x": ` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, wrong: "no JSON object"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Position(tc.text, 4)
			check(t, got, tc.want, err, tc.wrong)
		})
	}
}

// check compares a result, or looks for words in the error.
func check(t *testing.T, got, want any, err error, wrong string) {
	t.Helper()
	switch {
	case wrong == "" && err != nil:
		t.Errorf("got error %v, want %v", err, want)
	case wrong == "" && !reflect.DeepEqual(got, want):
		t.Errorf("got %v, want %v", got, want)
	case wrong != "" && err == nil:
		t.Errorf("got %v, want an error with %q", got, wrong)
	case wrong != "" && !strings.Contains(err.Error(), wrong):
		t.Errorf("got error %q, want one with %q", err, wrong)
	case wrong != "" && len(err.Error()) > 600:
		t.Errorf("the error is %d bytes long", len(err.Error()))
	}
}

type rows []struct {
	text  string
	want  any
	wrong string
}

func (r rows) run(t *testing.T, parse func(string) (any, error)) {
	t.Helper()
	for i, tc := range r {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			got, err := parse(tc.text)
			t.Log(tc.text)
			check(t, got, tc.want, err, tc.wrong)
		})
	}
}

func TestParseOrder(t *testing.T) {
	rows{
		{text: `{"order": [2, 0, 1]}`, want: []int{2, 0, 1}},
		{text: `{"order": ["R2", "R0", "R1"]}`, want: []int{2, 0, 1}},
		{text: `{"order": ["2", "0", 1]} {"order": [2, 0, 1]}`, want: []int{2, 0, 1}},
		{text: `{"order": [2, 1]}`, wrong: "R0 is missing"},
		{text: `{"order": []}`, wrong: "R0 is missing"},
		{text: `{"order": [0, 1, 1]}`, wrong: "R1 twice"},
		{text: `{"order": [0, 1, "R1"]}`, wrong: "R1 twice"},
		{text: `{"order": [0, 1, 2, 0]}`, wrong: "more than the 3"},
		{text: `{"order": [1, 2, 3]}`, wrong: "3 is not one of the ids R0..R2"},
		{text: `{"order": [0, 1, -2]}`, wrong: "-2 is not one of"},
		{text: `{"order": [0, 1, 2.0]}`, wrong: "2.0 is not one of"},
		{text: `{"order": [0, 1, "R02"]}`, wrong: "is not one of"},
		{text: `{"order": [0, 1, "A2"]}`, wrong: "is not one of"},
		{text: `{"order": [0, 1, "R"]}`, wrong: "is not one of"},
		{text: `{"order": [0, 1, null]}`, wrong: "null is not one of"},
		{text: `{"order": [0, 1, [2]]}`, wrong: "is not one of"},
		{text: `{"order": "R0 < R1 < R2"}`, wrong: "must be a list"},
		{text: `{"order": {"R0": 1}}`, wrong: "must be a list"},
		{text: `{"order": [0, 1, 2]} {"order": [2, 1, 0]}`, wrong: "two different"},
	}.run(t, func(text string) (any, error) { return Order(text, 3) })
}

func TestParseWinner(t *testing.T) {
	rows{
		{text: `{"winner": "A"}`, want: true},
		{text: `{"winner": "B"}`, want: false},
		{text: `{"winner": "\u0042"}`, want: false},
		{text: `{"winner": "a"}`, wrong: `"A" or "B"`},
		{text: `{"winner": "tie"}`, wrong: `"A" or "B"`},
		{text: `{"winner": ""}`, wrong: `"A" or "B"`},
		{text: `{"winner": 1}`, wrong: "must be a string"},
		{text: `{"winner": "A"} {"winner": "B"}`, wrong: "two different"},
	}.run(t, func(text string) (any, error) { return Winner(text) })
}

func TestParseScore(t *testing.T) {
	rows{
		{text: `{"score": 7}`, want: 7.0},
		{text: `{"score": 7.25}`, want: 7.25},
		{text: `{"score": 10}`, want: 10.0},
		{text: `{"score": 10.01}`, wrong: "not within 0..10"},
		{text: `{"score": -0.5}`, wrong: "not within 0..10"},
		{text: `{"score": "7/10"}`, wrong: "must be a number"},
		{text: `{"score": NaN}`, wrong: "no JSON object"},
	}.run(t, func(text string) (any, error) { return Score(text) })
}

func TestParseMatch(t *testing.T) {
	rows{
		{text: `{"score_a": 7, "score_b": 3.5}`, want: [2]float64{7, 3.5}},
		{text: `{"score_a": 7}`, wrong: `"score_b" is missing`},
		{text: `{"score_b": 7}`, wrong: `"score_a" is missing`},
		{text: `{"score_a": 7} {"score_b": 3}`, wrong: "is missing"},
		{text: `{"score_a": 11, "score_b": 3}`, wrong: `"score_a" is 11`},
		{text: `{"score_a": 1, "score_b": 30}`, wrong: `"score_b" is 30`},
		{text: `{"score_a": 7, "score_b": 3} {"score_a": 3, "score_b": 7}`, wrong: "two different"},
	}.run(t, func(text string) (any, error) {
		a, b, err := Match(text)
		return [2]float64{a, b}, err
	})
}

func TestParseWinners(t *testing.T) {
	rows{
		{text: `{"winners": [3, 1]}`, want: []int{3, 1}},
		{text: `{"winners": [3]}`, wrong: "lists 1 ids, want exactly 2"},
		{text: `{"winners": [3, 1, 0]}`, wrong: "lists 3 ids, want exactly 2"},
		{text: `{"winners": [3, 3]}`, wrong: "twice"},
		{text: `{"winners": [4, 1]}`, wrong: "4 is not one of"},
		{text: `{"winners": "R3"}`, wrong: "must be a list"},
	}.run(t, func(text string) (any, error) { return Winners(text, 4, 2) })
}

func TestParseManager(t *testing.T) {
	rows{
		{text: `{"keep_anchor_ids": ["A0", "A2"], "add_rollout_ids": ["R1"]}`, want: [2][]int{{0, 2}, {1}}},
		{text: `{"keep_anchor_ids": [], "add_rollout_ids": [2, 1, 0]}`, want: [2][]int{{}, {2, 1, 0}}},
		{text: `{"keep_anchor_ids": ["A0", "A2"]}`, wrong: `"add_rollout_ids" is missing`},
		{text: `{"keep_anchor_ids": ["A0"], "add_rollout_ids": ["R1"]}`, wrong: "2 ids together, want exactly 3"},
		{text: `{"keep_anchor_ids": ["A0", "A1", "A2"], "add_rollout_ids": ["R1"]}`, wrong: "4 ids together, want exactly 3"},
		{text: `{"keep_anchor_ids": ["R0", "A2"], "add_rollout_ids": ["R1"]}`, wrong: `"R0" is not one of the ids A0..A3`},
		{text: `{"keep_anchor_ids": ["A4", "A2"], "add_rollout_ids": ["R1"]}`, wrong: `"A4" is not one of`},
		{text: `{"keep_anchor_ids": ["A0", "A0"], "add_rollout_ids": ["R1"]}`, wrong: "A0 twice"},
		{text: `{"keep_anchor_ids": ["A0", "A2"], "add_rollout_ids": ["R3"]}`, wrong: "is not one of the ids R0..R2"},
	}.run(t, func(text string) (any, error) {
		keep, add, err := Manager(text, 3, 4, 3)
		return [2][]int{keep, add}, err
	})
}

func TestParseRubrics(t *testing.T) {
	const one, two = `{"text": " It is right. ", "weight": 5}`, `{"text": "It closes </think> and {braces}.", "weight": 1}`
	rows{
		{text: `{"rubrics": [` + one + `,` + two + `,{"text": "Short.", "weight": 2.0, "why": ""}]}`, want: []query.Rubric{
			{Text: "It is right.", Weight: 5}, {Text: "It closes </think> and {braces}.", Weight: 1}, {Text: "Short.", Weight: 2}}},
		{text: `{"rubrics": [` + one + `,` + two + `]}`, wrong: "lists 2, want 3 to 5"},
		{text: `{"rubrics": [` + strings.Repeat(one+`,`, 5) + two + `]}`, wrong: "lists 6, want 3 to 5"},
		{text: `{"rubrics": [` + one + `,` + two + `,{"text": "IT IS RIGHT.", "weight": 1}]}`, wrong: "rubrics[2]: repeats"},
		{text: `{"rubrics": [` + one + `,` + two + `,{"text": " ", "weight": 1}]}`, wrong: "rubrics[2]: \"text\" is empty"},
		{text: `{"rubrics": [` + one + `,` + two + `,{"text": "x", "weight": 0}]}`, wrong: "not within 1..5"},
		{text: `{"rubrics": [` + one + `,` + two + `,{"text": "x", "weight": 6}]}`, wrong: "not within 1..5"},
		{text: `{"rubrics": [` + one + `,` + two + `,{"text": "x", "weight": 1.5}]}`, wrong: "whole number"},
		{text: `{"rubrics": [` + one + `,` + two + `,{"text": "x"}]}`, wrong: `"weight" is missing`},
		{text: `{"rubrics": [` + one + `,` + two + `,{"text": 3, "weight": 1}]}`, wrong: "must be a string"},
		{text: `{"rubrics": [` + one + `,` + two + `,{"text": "x", "weight": 1, "weight": 2}]}`, wrong: "twice"},
		{text: `{"rubrics": [` + one + `,` + two + `,"x"]}`, wrong: "rubrics[2]: must be an object"},
		{text: `{"rubrics": {}}`, wrong: "must be a list"},
	}.run(t, func(text string) (any, error) { return Rubrics(text) })
}
