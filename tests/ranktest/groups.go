package ranktest

import (
	"fmt"
	"math"

	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/query"
	"github.com/rankbuffer/rankbuffer/core/rank"
)

// Near reports whether two rewards are the same but for rounding.
func Near(a, b float64) bool { return math.Abs(a-b) < 1e-12 }

// FirstShown prefers whatever stands in slot A.
func FirstShown(judge.Request, prompt.Document) string { return `{"winner": "A"}` }

// Verdicts answers pairs by a table: "1>2" makes quality 1 beat quality 2 in any
// slot; other pairs go by quality.
func Verdicts(upsets ...string) func(judge.Request, prompt.Document) string {
	return func(_ judge.Request, d prompt.Document) string {
		if d.Kind != prompt.Pair {
			return ""
		}
		a, b := QualityOf(d.Candidates[0].Body), QualityOf(d.Candidates[1].Body)
		for _, u := range upsets {
			switch u {
			case fmt.Sprintf("%g>%g", a, b):
				return `{"winner": "A"}`
			case fmt.Sprintf("%g>%g", b, a):
				return `{"winner": "B"}`
			}
		}
		return ""
	}
}

// PairDown fails every call about two qualities.
func PairDown(x, y float64) func(prompt.Document) error {
	return func(d prompt.Document) error {
		if len(d.Candidates) != 2 {
			return nil
		}
		a, b := QualityOf(d.Candidates[0].Body), QualityOf(d.Candidates[1].Body)
		if a == x && b == y || a == y && b == x {
			return ErrDown
		}
		return nil
	}
}

// Qualities are responses of the given qualities.
func Qualities(qualities ...float64) []rank.Response {
	out := make([]rank.Response, len(qualities))
	for i, q := range qualities {
		out[i] = rank.Response{Text: Text(q, "")}
	}
	return out
}

// QualityAt is the quality of the i-th of the Ascending responses.
func QualityAt(i int) float64 { return float64(i)/2 + 0.25 }

// Ascending are n responses, worst first.
func Ascending(n int) []rank.Response {
	out := make([]rank.Response, n)
	for i := range out {
		out[i] = rank.Response{Text: Text(QualityAt(i), fmt.Sprint(i))}
	}
	return out
}

// Spec has all that any method asks for.
func Spec() rank.Spec {
	q := Query()
	q.Rubrics = []query.Rubric{{Text: "It stands.", Weight: 3}, {Text: "It is cheap.", Weight: 1}}
	return rank.Spec{Query: q, Reference: Text(2.6, "reference"), Seed: 7, Step: 3}
}
