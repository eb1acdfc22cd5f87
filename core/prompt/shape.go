package prompt

import (
	"slices"
	"strconv"
)

// count is how many texts of a sort a kind takes.
type count int

const (
	none count = iota
	one
	two
	many
)

// shape is what a kind of call shows, and with which template variables.
type shape struct {
	rubrics    count
	anchors    bool
	candidates count
	required   []string // variables its template must use
	optional   []string // variables its template may use
}

var kinds = map[Kind]shape{
	Coarse:      {many, true, one, []string{"query", "rubrics", "anchors", "candidate"}, []string{"k", "last"}},
	CoarseOrder: {many, true, one, []string{"query", "rubrics", "anchors", "candidate"}, []string{"k", "last"}},
	Fine:        {many, false, many, []string{"query", "rubrics", "candidates"}, []string{"n", "candidate_ids"}},
	Manager:     {many, true, many, []string{"query", "rubrics", "anchors", "candidates", "order", "lookahead", "keep"}, []string{"k", "n"}},
	Score:       {many, false, one, []string{"query", "rubrics", "candidate"}, nil},
	RubricScore: {one, false, one, []string{"query", "rubric", "candidate"}, nil},
	Pair:        {many, false, two, []string{"query", "rubrics", "candidates"}, nil},
	Match:       {many, false, two, []string{"query", "rubrics", "candidates"}, nil},
	Select:      {many, false, many, []string{"query", "rubrics", "candidates", "winners"}, []string{"n", "candidate_ids"}},
	Preference:  {many, false, two, []string{"query", "rubrics", "candidates"}, nil},
	Reasoned:    {many, false, two, []string{"query", "rubrics", "candidates"}, nil},
	Label:       {many, false, one, []string{"query", "rubrics", "candidate"}, nil},
	Rubrics:     {none, false, none, []string{"query", "ranked"}, []string{"n"}},
}

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
