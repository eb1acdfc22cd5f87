package sim

import (
	"fmt"
	"strings"

	"github.com/rankbuffer/rankbuffer/core/prompt"
)

// malformed turns an answer into one that no parser may accept: prose, broken
// JSON, a value out of range, or two verdicts that differ.
func malformed(doc prompt.Document, good answer, bits uint64) answer {
	var text string
	bad := outOfRange(doc)
	switch bits % 4 {
	case 0:
		text = "These are hard to tell apart, so I would rather not commit myself."
	case 1:
		if text = strings.TrimRight(good.text(), "}]"); text == good.text() { // a bare label
			text = "{" + text
		}
	case 2:
		text = bad
	default:
		text = good.text() + "\nOn second thoughts:\n" + bad
	}
	if len(good.labels) > 0 { // with log-probabilities asked, they are of what was said
		return answer{labels: []label{{text, -0.1}}}
	}
	return plain(text)
}

// outOfRange is well-formed JSON whose verdict the contract forbids.
func outOfRange(doc prompt.Document) string {
	n := len(doc.Candidates)
	switch doc.Kind {
	case prompt.Coarse, prompt.CoarseOrder:
		return fmt.Sprintf(`{"position": %d}`, doc.AnchorCount+1)
	case prompt.Fine:
		return fmt.Sprintf(`{"order": [%d]}`, n)
	case prompt.Select:
		return fmt.Sprintf(`{"winners": [%d]}`, n)
	case prompt.Manager:
		return fmt.Sprintf(`{"keep_anchor_ids": ["A%d"], "add_rollout_ids": ["R%d"]}`, doc.AnchorCount, n)
	case prompt.Score, prompt.RubricScore:
		return `{"score": 11}`
	case prompt.Match:
		return `{"score_a": 11, "score_b": -1}`
	case prompt.Rubrics:
		return `{"rubrics": [{"text": "Good.", "weight": 9}]}`
	case prompt.Preference, prompt.Label:
		return "Neither"
	default:
		return `{"winner": "C"}`
	}
}
