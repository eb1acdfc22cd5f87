// Package verdict reads what a judge decided, from the text of its answer or from
// the log-probabilities of its tokens.
package verdict

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rankbuffer/rankbuffer/core/judge"
)

// find returns the one verdict of an answer: the JSON objects that have one of
// the keys, anywhere after the last closed reasoning block. Saying the same
// verdict several times is saying it once (models like to restate it in a code
// fence); two that differ, or one that read refuses, make the answer unusable.
// Tags inside a string of a well-formed object are content, not reasoning.
func find[T any](text string, keys []string, read func(object) (T, error), same func(a, b T) bool) (T, error) {
	var (
		zero, value T
		count       int
		objects     int
		bad         error
		open        bool
	)
	between := func(s string) {
		if i := strings.LastIndex(s, judge.CloseReasoning); i >= 0 {
			s = s[i+len(judge.CloseReasoning):]
			value, count, objects, bad, open = zero, 0, 0, nil, false
		}
		open = open || strings.Contains(s, judge.OpenReasoning)
	}
	eachObject(text, between, func(o object) {
		objects++
		if bad != nil || !slices.ContainsFunc(keys, func(key string) bool { return o.get(key) != "" }) {
			return
		}
		v, err := readOnce(o, keys, read)
		switch {
		case err != nil:
			bad = err
		case count > 0 && !same(value, v):
			bad = fmt.Errorf("two different verdicts with %s: give exactly one", quoteAll(keys))
		default:
			value = v
		}
		count++
	})
	switch {
	case open:
		return zero, judge.ErrOpenReasoning
	case bad != nil:
		return zero, bad
	case objects == 0:
		return zero, fmt.Errorf("no JSON object in the answer: want one with %s", quoteAll(keys))
	case count == 0:
		return zero, fmt.Errorf("no JSON object in the answer has %s", quoteAll(keys))
	}
	return value, nil
}

func readOnce[T any](o object, keys []string, read func(object) (T, error)) (T, error) {
	var zero T
	if key, ok := o.repeated(); ok {
		return zero, fmt.Errorf("the key %s occurs twice in one JSON object", judge.Clip(strconv.Quote(key)))
	}
	for _, key := range keys {
		if o.get(key) == "" {
			return zero, fmt.Errorf("%q is missing", key)
		}
	}
	return read(o)
}

func quoteAll(keys []string) string {
	quoted := make([]string, len(keys))
	for i, key := range keys {
		quoted[i] = strconv.Quote(key)
	}
	return strings.Join(quoted, " and ")
}

// numberOf reads a JSON number between lo and hi.
func numberOf(o object, key string, lo, hi float64) (float64, error) {
	raw := o.get(key)
	if raw[0] != '-' && !isDigit(raw[0]) {
		return 0, fmt.Errorf("%q must be a number, not %s", key, judge.Clip(raw))
	}
	// Out of float64's range ParseFloat gives an infinity, refused as any other.
	x, _ := strconv.ParseFloat(raw, 64)
	if !(x >= lo && x <= hi) {
		return 0, fmt.Errorf("%q is %s, which is not within %g..%g", key, judge.Clip(raw), lo, hi)
	}
	return x, nil
}

// intOf reads a whole number. 2.0 and 2e0 are whole: the value is exact, and a
// re-ask would cost a call to learn nothing.
func intOf(o object, key string, lo, hi int) (int, error) {
	x, err := numberOf(o, key, float64(lo), float64(hi))
	if err != nil {
		return 0, err
	}
	if x != math.Trunc(x) {
		return 0, fmt.Errorf("%q must be a whole number, not %s", key, judge.Clip(o.get(key)))
	}
	return int(x), nil
}

// stringOf reads a JSON string.
func stringOf(o object, key string) (string, error) {
	raw := o.get(key)
	if raw == "" || raw[0] != '"' {
		return "", fmt.Errorf("%q must be a string, not %s", key, judge.Clip(raw))
	}
	return unquote(raw), nil
}

// listOf reads a JSON list, its elements as they stand.
func listOf(o object, key string) ([]string, error) {
	raw := o.get(key)
	var items []json.RawMessage
	if raw[0] != '[' {
		return nil, fmt.Errorf("%q must be a list, not %s", key, judge.Clip(raw))
	}
	if err := json.Unmarshal([]byte(raw), &items); err != nil {
		return nil, fmt.Errorf("%q: %w", key, err)
	}
	out := make([]string, len(items))
	for i, item := range items {
		out[i] = string(item)
	}
	return out, nil
}

// idsOf reads a list of distinct ids, 0 or "R0", and returns their numbers, each
// below n.
func idsOf(o object, key string, letter byte, n int) ([]int, error) {
	items, err := listOf(o, key)
	if err != nil {
		return nil, err
	}
	if len(items) > n {
		return nil, fmt.Errorf("%q lists %d ids, more than the %d there are", key, len(items), n)
	}
	out := make([]int, len(items))
	seen := make([]bool, n)
	for i, raw := range items {
		k, err := idNumber(raw, letter, n)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", key, err)
		}
		if seen[k] {
			return nil, fmt.Errorf("%q lists %c%d twice", key, letter, k)
		}
		out[i], seen[k] = k, true
	}
	return out, nil
}

// idNumber reads one id: its number as the papers' contract has it, or the label
// the judge saw at the text, which models often answer with instead.
func idNumber(raw string, letter byte, n int) (int, error) {
	digits := raw
	if raw[0] == '"' {
		digits = strings.TrimPrefix(unquote(raw), string(letter))
	}
	if k, err := strconv.Atoi(digits); err == nil && 0 <= k && k < n && strconv.Itoa(k) == digits {
		return k, nil
	}
	return 0, fmt.Errorf("%s is not one of the ids %c0..%c%d", judge.Clip(raw), letter, letter, n-1)
}
