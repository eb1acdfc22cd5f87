package prompt

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rankbuffer/rankbuffer/core/query"
)

// Render writes the messages of one request: a system message that the renderer
// owns (task, marker tag, counts, and that enclosed text is data) and a user
// message made of the kind's template. The result depends on the arguments
// alone. Texts are enclosed byte for byte. Two requests of a kind that differ
// only in their last texts share every byte before those, unless one of these
// texts contains the tag. An error names the field.
func (t *Templates) Render(kind Kind, v Vars) ([]Message, error) {
	if err := v.check(kind); err != nil {
		return nil, err
	}
	s, tpl := kinds[kind], t.of(kind)
	v = s.only(v)
	parts := s.parts(v)
	var fixed []string // what the tag must not occur in
	room := 0          // an estimate of the message, so that it is not copied as it grows
	for _, seg := range tpl {
		fixed = append(fixed, seg.literal)
		room += len(seg.literal)
	}
	for _, name := range s.required {
		for _, text := range parts[name].texts {
			fixed = append(fixed, text.Body)
			room += len(text.Body) + 48 // and its markers
		}
	}
	h := header{kind: kind, tag: pickTag(s.stable(kind, v), fixed), anchors: len(v.Anchors), candidates: len(v.Candidates),
		lookahead: len(v.Lookahead), keep: v.Keep, winners: v.Winners, ranked: len(v.Ranked)}
	var b strings.Builder
	b.Grow(room)
	for _, seg := range tpl {
		b.WriteString(seg.literal)
		p := parts[seg.variable]
		p.write(&b, h.tag)
		if len(p.texts) > 0 {
			b.WriteString(seg.emptyLine)
		}
	}
	return []Message{{Role: "system", Content: h.preamble()}, {Role: "user", Content: b.String()}}, nil
}

// only is v without what requests of the kind do not show.
func (s shape) only(v Vars) Vars {
	shown := Vars{Query: v.Query}
	if s.showsRubrics() {
		shown.Rubrics = v.Rubrics
	}
	if s.shows("anchors") {
		shown.Anchors = v.Anchors
	}
	if s.candidates != none {
		shown.Candidates = v.Candidates
	}
	if s.shows("order") {
		shown.Order, shown.Lookahead, shown.Keep = v.Order, v.Lookahead, v.Keep
	}
	if s.shows("winners") {
		shown.Winners = v.Winners
	}
	if s.shows("ranked") {
		shown.Ranked = v.Ranked
	}
	return shown
}

// stable lists what the requests that should share a prefix have in common. The
// calls for one rubric at a time share query and candidate and show the rubric
// last, so it stays out there.
func (s shape) stable(kind Kind, v Vars) []string {
	texts := []string{string(kind), v.Query.Text}
	for _, m := range v.Query.Messages {
		texts = append(texts, m.Role, m.Content)
	}
	if !s.shows("rubric") {
		texts = append(texts, rubricList(v.Rubrics))
	}
	if !s.anchorIDs {
		texts = append(texts, v.Anchors...)
	}
	return texts
}

// part is what stands for one variable: plain text, then texts between markers.
type part struct {
	plain string
	texts []Text
}

func (p part) write(b *strings.Builder, tag string) {
	b.WriteString(p.plain)
	for i, text := range p.texts {
		if i > 0 {
			b.WriteByte('\n')
		}
		writeBlock(b, text.ID, tag, text.Body)
	}
}

// parts gives every variable what stands for it.
func (s shape) parts(v Vars) map[string]part {
	number := func(n int) part { return part{plain: strconv.Itoa(n)} }
	rubrics := part{texts: []Text{{"RUBRICS", rubricList(v.Rubrics)}}}
	candidates := marked(v.Candidates, s.candidateID)
	anchors := marked(v.Anchors, anchorID)
	if s.anchorIDs {
		anchors = part{plain: "[" + enumerate(len(v.Anchors), anchorID, "]\n[") + "]"}
	}
	lookahead := marked(v.Lookahead, lookaheadID)
	if len(v.Lookahead) > 0 {
		lookahead.plain = lookaheadHeading
	}
	return map[string]part{
		"query":         queryPart(v.Query),
		"rubrics":       rubrics,
		"rubric":        rubrics,
		"anchors":       anchors,
		"k":             number(len(v.Anchors)),
		"last":          number(len(v.Anchors) - 1),
		"candidate":     candidates,
		"candidates":    candidates,
		"candidate_ids": {plain: "[" + enumerate(len(v.Candidates), strconv.Itoa, ", ") + "]"},
		"n":             number(len(v.Candidates) + len(v.Ranked)), // no kind has both
		"order":         {texts: []Text{{"ORDER", strings.Join(v.Order, " ")}}},
		"lookahead":     lookahead,
		"keep":          number(v.Keep),
		"winners":       number(v.Winners),
		"ranked":        marked(v.Ranked, rankedID),
	}
}

func marked(texts []string, id func(int) string) (p part) {
	for i, text := range texts {
		p.texts = append(p.texts, Text{id(i), text})
	}
	return p
}

func queryPart(q query.Prompt) (p part) {
	if len(q.Messages) == 0 {
		return part{texts: []Text{{"QUERY", q.Text}}}
	}
	for i, m := range q.Messages {
		p.texts = append(p.texts, Text{queryID(i, m.Role), m.Content})
	}
	return p
}

// rubricList numbers the rubrics from 1: "1. [weight=5] text".
func rubricList(rubrics []query.Rubric) string {
	return enumerate(len(rubrics), func(i int) string {
		r := rubrics[i]
		return fmt.Sprintf("%d. [weight=%s] %s", i+1, strconv.FormatFloat(r.Weight, 'g', -1, 64), r.Text)
	}, "\n")
}

// enumerate joins what name gives for 0 to n-1.
func enumerate(n int, name func(int) string, between string) string {
	names := make([]string, n)
	for i := range names {
		names[i] = name(i)
	}
	return strings.Join(names, between)
}
