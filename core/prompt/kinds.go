// Package prompt renders what the judge reads. A template is plain text with
// {{variables}}, one per kind of call; users can put files of their own in their
// place. Responses stand between markers that no text they enclose can contain.
package prompt

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rankbuffer/rankbuffer/core/query"
)

// Message is one chat message of a request.
type Message = query.Message

// Kind names a kind of judge call. It selects the template and labels the call
// in the ledger.
type Kind string

// The kinds of judge call. Each has a row in kinds and a file in templates/, and
// that is all this package knows of one.
const (
	Coarse      Kind = "coarse"       // one candidate among ordered anchors -> {"position": p}
	CoarseOrder Kind = "coarse_order" // the same, anchors by id only
	Fine        Kind = "fine"         // candidates -> {"order": [ids worst to best]}; also bootstrap and listwise
	Manager     Kind = "manager"      // LLM-managed buffer -> {"keep_anchor_ids", "add_rollout_ids"}
	Score       Kind = "score"        // one candidate, all rubrics -> {"score": 0..10}
	RubricScore Kind = "rubric_score" // one candidate, one rubric -> {"score": 0..10}
	Pair        Kind = "pair"         // two candidates A and B -> {"winner": "A"|"B"}
	Match       Kind = "match"        // two candidates A and B -> {"score_a": 0..10, "score_b": 0..10} (ArenaRL)
	Select      Kind = "select"       // candidates -> {"winners": [ids]} (Tournament-GRPO)
	Preference  Kind = "preference"   // A or B as one label token, no reasoning (PRC); answer: A or B
	Reasoned    Kind = "reasoned"     // the same after written reasoning (PRC); answer ends with {"winner": ...}
	Label       Kind = "label"        // is this response good: Yes or No as one label token (GenRM)
	Rubrics     Kind = "rubrics"      // query and ranked responses -> {"rubrics": [{"text", "weight"}]}
)

// kinds has a row for each kind: how many candidates a request shows, the
// variables its template must use, and those it may use. The variables also say
// what a request consists of.
var kinds = map[Kind]shape{
	Coarse:      row(one, "query rubrics anchors candidate", "k last"),
	CoarseOrder: row(one, "query rubrics anchors candidate", "k last").byID(),
	Fine:        row(many, "query rubrics candidates", "n candidate_ids"),
	Manager:     row(any, "query rubrics anchors candidates order lookahead keep", "k n"),
	Score:       row(one, "query rubrics candidate", ""),
	RubricScore: row(one, "query rubric candidate", ""),
	Pair:        row(two, "query rubrics candidates", ""),
	Match:       row(two, "query rubrics candidates", ""),
	Select:      row(many, "query rubrics candidates winners", "n candidate_ids"),
	Preference:  row(two, "query rubrics candidates", ""),
	Reasoned:    row(two, "query rubrics candidates", ""),
	Label:       row(one, "query rubrics candidate", ""),
	Rubrics:     row(none, "query ranked", "n"),
}

// blocks are the variables that stand for text under judgement. Each may be
// used once: a second copy would double the tokens and leave ids ambiguous.
var blocks = strings.Fields("query rubrics rubric anchors candidate candidates order lookahead ranked")

// count is how many candidates a kind takes.
type count int

const (
	none count = iota
	one
	two
	many // at least one
	any
)

// shape is one row of kinds.
type shape struct {
	candidates         count
	required, optional []string // variables
	anchorIDs          bool     // anchors are shown by id alone
}

func row(candidates count, required, optional string) shape {
	return shape{candidates: candidates, required: strings.Fields(required), optional: strings.Fields(optional)}
}

func (s shape) byID() shape {
	s.anchorIDs = true
	return s
}

// shows reports whether a request consists of what the variable stands for.
func (s shape) shows(variable string) bool { return slices.Contains(s.required, variable) }

// showsRubrics is true for all rubrics together and for one at a time.
func (s shape) showsRubrics() bool { return s.shows("rubrics") || s.shows("rubric") }

// Kinds lists every kind, sorted.
func Kinds() []Kind {
	all := make([]Kind, 0, len(kinds))
	for k := range kinds {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}

// candidateID is the id the i-th candidate of a kind is shown with.
func (s shape) candidateID(i int) string {
	switch s.candidates {
	case one:
		return "CANDIDATE"
	case two:
		return string("AB"[i])
	default:
		return rolloutID(i)
	}
}

func rolloutID(i int) string   { return "R" + strconv.Itoa(i) }
func anchorID(i int) string    { return "A" + strconv.Itoa(i) }
func lookaheadID(i int) string { return "L" + strconv.Itoa(i) }
func rankedID(i int) string    { return "RANK" + strconv.Itoa(i+1) }

func queryID(i int, role string) string { return "QUERY" + strconv.Itoa(i+1) + " " + role }
