package verdict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/query"
)

// The parsers read the verdict of an answer's text, which is untrusted. The
// rules they share are those of find; every error says what is wrong in words
// that can be sent back to the judge.

func equal[T comparable](a, b T) bool { return a == b }

// Position reads {"position": p}, the number of the k anchors that the
// candidate is better than: 0..k.
func Position(text string, k int) (int, error) {
	return find(text, []string{"position"}, func(o object) (int, error) {
		return intOf(o, "position", 0, k)
	}, equal)
}

// Order reads {"order": [2, 0, ...]}, all n candidates once each, worst to
// best. "R2" for 2 is accepted, here and in every list of ids.
func Order(text string, n int) ([]int, error) {
	return find(text, []string{"order"}, func(o object) ([]int, error) {
		order, err := idsOf(o, "order", 'R', n)
		if err != nil || len(order) == n {
			return order, err
		}
		for k := range n {
			if !slices.Contains(order, k) {
				return nil, fmt.Errorf("\"order\" lists %d of the %d ids: R%d is missing", len(order), n, k)
			}
		}
		return order, nil
	}, slices.Equal)
}

// Winner reads {"winner": "A"|"B"} and reports whether it is A.
func Winner(text string) (a bool, err error) {
	return find(text, []string{"winner"}, func(o object) (bool, error) {
		winner, err := stringOf(o, "winner")
		if err == nil && winner != "A" && winner != "B" {
			err = fmt.Errorf("\"winner\" must be \"A\" or \"B\", not %s", judge.Clip(o.get("winner")))
		}
		return winner == "A", err
	}, equal)
}

// maxScore bounds the scores a judge gives.
const maxScore = 10

// Score reads {"score": s}, a number within 0..10.
func Score(text string) (float64, error) {
	return find(text, []string{"score"}, func(o object) (float64, error) {
		return numberOf(o, "score", 0, maxScore)
	}, equal)
}

// Match reads {"score_a": a, "score_b": b}, each within 0..10.
func Match(text string) (a, b float64, err error) {
	scores, err := find(text, []string{"score_a", "score_b"}, func(o object) ([2]float64, error) {
		a, err := numberOf(o, "score_a", 0, maxScore)
		if err != nil {
			return [2]float64{}, err
		}
		b, err := numberOf(o, "score_b", 0, maxScore)
		return [2]float64{a, b}, err
	}, equal)
	return scores[0], scores[1], err
}

// Winners reads {"winners": [1, ...]}, exactly k distinct ones of n
// candidates.
func Winners(text string, n, k int) ([]int, error) {
	return find(text, []string{"winners"}, func(o object) ([]int, error) {
		winners, err := idsOf(o, "winners", 'R', n)
		if err == nil && len(winners) != k {
			return nil, fmt.Errorf("\"winners\" lists %d ids, want exactly %d", len(winners), k)
		}
		return winners, err
	}, slices.Equal)
}

// Manager reads {"keep_anchor_ids": ["A0", ...], "add_rollout_ids": ["R1",
// ...]}: distinct ids of the anchors and rollouts there are, keep of them in all.
func Manager(text string, keep, anchors, rollouts int) (keepIDs, addIDs []int, err error) {
	const keepKey, addKey = "keep_anchor_ids", "add_rollout_ids"
	type choice struct{ keep, add []int }
	chosen, err := find(text, []string{keepKey, addKey}, func(o object) (c choice, err error) {
		if c.keep, err = idsOf(o, keepKey, 'A', anchors); err != nil {
			return c, err
		}
		if c.add, err = idsOf(o, addKey, 'R', rollouts); err != nil {
			return c, err
		}
		if got := len(c.keep) + len(c.add); got != keep {
			return c, fmt.Errorf("%q and %q list %d ids together, want exactly %d", keepKey, addKey, got, keep)
		}
		return c, nil
	}, func(a, b choice) bool { return slices.Equal(a.keep, b.keep) && slices.Equal(a.add, b.add) })
	return chosen.keep, chosen.add, err
}

// The rubrics a judge writes for a query.
const (
	minRubrics, maxRubrics = 3, 5
	minWeight, maxWeight   = 1, 5
)

// Rubrics reads {"rubrics": [{"text", "weight"}]}: 3 to 5 distinct texts
// with whole weights 1..5.
func Rubrics(text string) ([]query.Rubric, error) {
	return find(text, []string{"rubrics"}, func(o object) ([]query.Rubric, error) {
		items, err := listOf(o, "rubrics")
		if err != nil {
			return nil, err
		}
		if len(items) < minRubrics || len(items) > maxRubrics {
			return nil, fmt.Errorf("\"rubrics\" lists %d, want %d to %d", len(items), minRubrics, maxRubrics)
		}
		out := make([]query.Rubric, len(items))
		for i, item := range items {
			if out[i], err = rubricOf(item); err != nil {
				return nil, fmt.Errorf("rubrics[%d]: %w", i, err)
			}
			if slices.ContainsFunc(out[:i], func(r query.Rubric) bool { return strings.EqualFold(r.Text, out[i].Text) }) {
				return nil, fmt.Errorf("rubrics[%d]: repeats the text of another", i)
			}
		}
		return out, nil
	}, slices.Equal)
}

func rubricOf(raw string) (query.Rubric, error) {
	if raw[0] != '{' {
		return query.Rubric{}, fmt.Errorf("must be an object with \"text\" and \"weight\", not %s", judge.Clip(raw))
	}
	o, _, _ := scanObject(raw, 0)
	return readOnce(o, []string{"text", "weight"}, func(o object) (query.Rubric, error) {
		text, err := stringOf(o, "text")
		if err != nil {
			return query.Rubric{}, err
		}
		if text = strings.TrimSpace(text); text == "" {
			return query.Rubric{}, fmt.Errorf("\"text\" is empty")
		}
		weight, err := intOf(o, "weight", minWeight, maxWeight)
		return query.Rubric{Text: text, Weight: float64(weight)}, err
	})
}
