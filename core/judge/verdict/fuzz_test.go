package verdict

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rankbuffer/rankbuffer/core/judge"
)

var seeds = []string{
	"", "{", `{"position": 2}`, `{"position": 2.0}`, `{"order": [1, "R0", 2]}`, `{"winner": "A"}`, `{"score": 7.5}`,
	`{"score_a": 1, "score_b": 2}`, `{"winners": ["R1"]}`, `{"keep_anchor_ids": ["A0"], "add_rollout_ids": [1]}`,
	`{"rubrics": [{"text": "a", "weight": 1}, {"text": "b", "weight": 2}, {"text": "c", "weight": 3}]}`,
	`<think>{"position": 1}</think>{"position": 2}`, `{"a": "\ud800\"", "position": 1e0}`, "{\"\xff\": [[[{}]]], \"position\": -0}",
	`{{"position": 1}} {"position": 1} </think>`, `{"a":{"a":{"a":{"a":[0.5E+1, true, false, null`,
}

func seed(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
}

// FuzzObjects holds the scanner to encoding/json: what it takes for an object is
// one with the same members, and every byte belongs to exactly one piece.
func FuzzObjects(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, text string) {
		rest := text
		eachObject(text, func(between string) {
			if !strings.HasPrefix(rest, between) {
				t.Fatalf("text between is not next: %q in %q", between, rest)
			}
			rest = rest[len(between):]
		}, func(o object) {
			dec := json.NewDecoder(strings.NewReader(rest))
			var want map[string]json.RawMessage
			if err := dec.Decode(&want); err != nil {
				t.Fatalf("encoding/json refuses what was found at %q: %v", rest, err)
			}
			rest = rest[dec.InputOffset():]
			for key, value := range want {
				if got := o[lastIndex(o, key)].value; got != string(value) {
					t.Fatalf("member %q is %q, want %q", key, got, value)
				}
			}
		})
		if rest != "" {
			t.Fatalf("left over: %q", rest)
		}
	})
}

// lastIndex finds the member that encoding/json keeps of a repeated key.
func lastIndex(o object, key string) int {
	for i := len(o) - 1; i >= 0; i-- {
		if o[i].key == key {
			return i
		}
	}
	return 0
}

// FuzzScanObject holds the scanner to encoding/json at one place.
func FuzzScanObject(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, text string) {
		start := strings.IndexByte(text, '{')
		if start < 0 || strings.Count(text, "[")+strings.Count(text, "{") >= maxDepth {
			return
		}
		_, end, ok := scanObject(text, start)
		dec := json.NewDecoder(strings.NewReader(text[start:]))
		var want json.RawMessage
		if err := dec.Decode(&want); (err == nil) != ok {
			t.Fatalf("scanObject(%q) = %v, encoding/json says %v", text[start:], ok, err)
		}
		if ok && end != start+len(want) || end <= start || end > len(text) {
			t.Fatalf("scanObject(%q) ends at %d", text[start:], end)
		}
	})
}

func permutation(ids []int, n int) bool {
	sorted := slices.Sorted(slices.Values(ids))
	return len(slices.Compact(sorted)) == len(ids) && (len(ids) == 0 || sorted[0] >= 0 && sorted[len(sorted)-1] < n)
}

// FuzzParse holds every parser to its range: whatever the text, an error or a
// verdict that can be used, and the same again when asked again.
func FuzzParse(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := Position(text, 3); err == nil && (p < 0 || p > 3) {
			t.Errorf("position %d", p)
		}
		if order, err := Order(text, 3); err == nil && (len(order) != 3 || !permutation(order, 3)) {
			t.Errorf("order %v", order)
		}
		if s, err := Score(text); err == nil && !(s >= 0 && s <= 10) {
			t.Errorf("score %v", s)
		}
		if a, b, err := Match(text); err == nil && !(min(a, b) >= 0 && max(a, b) <= 10) {
			t.Errorf("match %v %v", a, b)
		}
		if w, err := Winners(text, 3, 1); err == nil && (len(w) != 1 || !permutation(w, 3)) {
			t.Errorf("winners %v", w)
		}
		if keep, add, err := Manager(text, 2, 3, 3); err == nil &&
			(len(keep)+len(add) != 2 || !permutation(keep, 3) || !permutation(add, 3)) {
			t.Errorf("manager %v %v", keep, add)
		}
		if rubrics, err := Rubrics(text); err == nil {
			if len(rubrics) < 3 || len(rubrics) > 5 {
				t.Errorf("%d rubrics", len(rubrics))
			}
			for _, r := range rubrics {
				if strings.TrimSpace(r.Text) == "" || !utf8.ValidString(r.Text) || r.Weight != math.Trunc(r.Weight) || r.Weight < 1 || r.Weight > 5 {
					t.Errorf("rubric %+v", r)
				}
			}
		}
		a, err1 := Winner(text)
		if b, err2 := Winner(text); a != b || (err1 == nil) != (err2 == nil) {
			t.Errorf("the same text gives %v, %v and %v, %v", a, err1, b, err2)
		}
	})
}

// FuzzLabelProb: a probability or an error.
func FuzzLabelProb(f *testing.F) {
	f.Add(" A", -0.1, "B", -2.0)
	f.Add("</think>", 0.0, "A", math.Inf(-1))
	f.Fuzz(func(t *testing.T, token string, lp float64, alternative string, lp2 float64) {
		p, err := LabelProb([]judge.TokenProb{{Token: token, LogProb: lp, Top: []judge.Alternative{{Token: alternative, LogProb: lp2}}}}, "A", "B")
		if err == nil && !(p >= 0 && p <= 1) {
			t.Errorf("probability %v", p)
		}
	})
}
