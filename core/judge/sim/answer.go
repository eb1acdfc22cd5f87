package sim

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/rankbuffer/rankbuffer/core/buffer"
	"github.com/rankbuffer/rankbuffer/core/prompt"
)

// answer says what an undisturbed attempt returns, in the words of each kind's
// answer contract.
func (s *Sim) answer(q question) answer {
	switch q.doc.Kind {
	case prompt.CoarseOrder:
		p := s.draws.bits("order only", q.call) % uint64(q.doc.AnchorCount+1)
		return plain(fmt.Sprintf(`{"position": %d}`, p))
	case prompt.Manager:
		return plain(manage(q.doc))
	case prompt.Rubrics:
		return plain(rubrics)
	}
	return s.weigh(q.doc, s.perceived(q))
}

// weigh answers the kinds that compare what is perceived, in shown order.
func (s *Sim) weigh(doc prompt.Document, seen []float64) answer {
	switch doc.Kind {
	case prompt.Coarse:
		anchors, candidate := seen[:len(doc.Anchors)], seen[len(doc.Anchors)]
		return plain(fmt.Sprintf(`{"position": %d}`, below(anchors, candidate)))
	case prompt.Fine:
		return plain(fmt.Sprintf(`{"order": %s}`, list(ascending(seen))))
	case prompt.Select:
		return plain(fmt.Sprintf(`{"winners": %s}`, list(descending(seen)[:doc.Winners])))
	case prompt.Score, prompt.RubricScore:
		return plain(fmt.Sprintf(`{"score": %.0f}`, math.Round(10*logistic((seen[0]-s.knows.mean)/4))))
	case prompt.Pair:
		return choose(`{"winner": "`, "A", "B", seen[0]-seen[1], `"}`)
	case prompt.Reasoned:
		return choose(reasoning+`{"winner": "`, "A", "B", seen[0]-seen[1], `"}`)
	case prompt.Match:
		if seen[0] >= seen[1] {
			return plain(`{"score_a": 1, "score_b": 0}`)
		}
		return plain(`{"score_a": 0, "score_b": 1}`)
	case prompt.Preference:
		return choose("", "A", "B", seen[0]-seen[1], "")
	default: // prompt.Label, the last kind that Read lets through
		return choose("", "Yes", "No", seen[0]-s.knows.mean, "")
	}
}

// below counts the anchors perceived strictly below the candidate.
func below(anchors []float64, candidate float64) int {
	n := 0
	for _, a := range anchors {
		if a < candidate {
			n++
		}
	}
	return n
}

// ascending orders indices worst to best, ties as shown.
func ascending(seen []float64) []int {
	order := make([]int, len(seen))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(seen[i], seen[j]) })
	return order
}

// descending orders indices best to worst, ties as shown.
func descending(seen []float64) []int {
	negated := make([]float64, len(seen))
	for i, x := range seen {
		negated[i] = -x
	}
	return ascending(negated)
}

// reasoning stands in for what a model would write before its verdict.
const reasoning = "Rubric by rubric, I looked at what each response offers and where it falls short. " +
	"Taking the weights into account, one of them comes out ahead.\n\n"

// choose answers with the likelier of two labels, where the first has
// probability logistic(difference); of equals the first.
func choose(before, first, second string, difference float64, after string) answer {
	a, b := label{first, logLogistic(difference)}, label{second, logLogistic(-difference)}
	if difference < 0 {
		a, b = b, a
	}
	return answer{before: before, labels: []label{a, b}, after: after}
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// logLogistic is log(logistic(x)), finite for every finite x.
func logLogistic(x float64) float64 {
	return min(x, 0) - math.Log1p(math.Exp(-math.Abs(x)))
}

// manage keeps the endpoint-preserving subsample of the combined order.
func manage(doc prompt.Document) string {
	keep, add := []string{}, []string{}
	picked := buffer.Select(len(doc.Order), doc.Keep)
	for _, i := range picked[:min(doc.Keep, len(picked))] { // Select never picks fewer than both ends
		if id := doc.Order[i]; id[0] == 'A' {
			keep = append(keep, id)
		} else {
			add = append(add, id)
		}
	}
	return fmt.Sprintf(`{"keep_anchor_ids": %s, "add_rollout_ids": %s}`, list(keep), list(add))
}

// rubrics is the answer to every request for rubrics.
const rubrics = `{"rubrics": [` +
	`{"text": "States only what is true, and answers the question that was asked.", "weight": 5}, ` +
	`{"text": "Covers every part of the request without padding.", "weight": 3}, ` +
	`{"text": "Is easy to follow from the first line to the last.", "weight": 2}]}`

// list writes ids or the numbers of candidates as a JSON list.
func list[T int | string](ids []T) string {
	text, _ := json.Marshal(ids) // integers and strings always encode
	return string(text)
}
