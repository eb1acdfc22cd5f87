package methods

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/query"
	"github.com/rankbuffer/rankbuffer/core/rank"
)

// byRubric scores a text "x q=1 a=7" with 7 on the rubric whose text holds "a".
func byRubric(_ judge.Request, d prompt.Document) string {
	body := d.Candidates[0].Body
	for _, field := range strings.Fields(body) {
		name, value, found := strings.Cut(field, "=")
		if found && name != "q" && strings.Contains(d.Rubrics, name+"-ness") {
			return fmt.Sprintf(`{"score": %s}`, value)
		}
	}
	return ""
}

func rubricSpec() rank.Spec {
	q := testQuery()
	q.Rubrics = []query.Rubric{{Text: "Its a-ness.", Weight: 3}, {Text: "Its b-ness.", Weight: 1}}
	return rank.Spec{Query: q}
}

func rubricGroup() []rank.Response {
	return responsesOf("a=10 b=0 q=1", "a=4 b=0 q=1", "a=1 b=0 q=1", "")
}

func TestExplicit(t *testing.T) {
	for options, want := range map[string][]float64{
		``:            {0.75, 0.3, 0.075, 0},
		`"scale": 10`: {7.5, 3, 0.75, 0},
	} {
		res, _ := score(t, method(t, `{"name": "explicit"`+join(options)+`}`), &oracle{Say: byRubric}, rubricSpec(), rubricGroup(), nil)
		if !slices.EqualFunc(res.Rewards, want, near) || res.Calls["rubric_score"] != 6 {
			t.Errorf("%s: rewards %v in %v calls, want %v in 6", options, res.Rewards, res.Calls, want)
		}
	}
}
