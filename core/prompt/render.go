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
	r := newRendering(kind, v)
	tpl := t.of(kind)
	fixed := tpl.literals(r.enclosed())
	r.header.tag = pickTag(r.stable(), fixed)
	var b strings.Builder
	b.Grow(roomFor(fixed))
	r.write(&b, tpl)
	return []Message{{Role: "system", Content: r.header.preamble()}, {Role: "user", Content: b.String()}}, nil
}

// roomFor estimates what a message of these texts takes with its markers, so
// that tens of kilobytes are not copied again and again as it grows.
func roomFor(texts []string) int {
	const markers = 48
	n := 0
	for _, text := range texts {
		n += len(text) + markers
	}
	return n
}

// rendering is one request while it is written.
type rendering struct {
	header  header
	shape   shape
	vars    Vars
	rubrics string // the section's text, between its markers
	order   string
}

func newRendering(kind Kind, v Vars) rendering {
	s := kinds[kind]
	r := rendering{header: header{kind: kind}, shape: s, vars: v}
	if s.showsRubrics() {
		r.rubrics = rubricList(v.Rubrics)
	}
	if s.shows("anchors") {
		r.header.anchors = len(v.Anchors)
	}
	if s.candidates != none {
		r.header.candidates = len(v.Candidates)
	}
	if s.shows("lookahead") {
		r.header.lookahead = len(v.Lookahead)
	}
	if s.shows("keep") {
		r.header.keep = v.Keep
	}
	if s.shows("order") {
		r.order = strings.Join(v.Order, " ")
	}
	if s.shows("winners") {
		r.header.winners = v.Winners
	}
	if s.shows("ranked") {
		r.header.ranked = len(v.Ranked)
	}
	if s.anchorIDs {
		r.vars.Anchors = nil // their text must not leak into a request, its tag included
	}
	return r
}

// rubricList numbers the rubrics from 1: "1. [weight=5] text".
func rubricList(rubrics []query.Rubric) string {
	var b strings.Builder
	for i, rubric := range rubrics {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%d. [weight=%s] %s", i+1, strconv.FormatFloat(rubric.Weight, 'g', -1, 64), rubric.Text)
	}
	return b.String()
}

// stable lists what the requests that should share a prefix have in common. The
// calls for one rubric at a time share query and candidate and show the rubric
// last, so it stays out there.
func (r *rendering) stable() []string {
	texts := []string{string(r.header.kind)}
	texts = append(texts, r.vars.Query.Text)
	for _, m := range r.vars.Query.Messages {
		texts = append(texts, m.Role, m.Content)
	}
	if !r.shape.shows("rubric") {
		texts = append(texts, r.rubrics)
	}
	if r.shape.shows("anchors") {
		texts = append(texts, r.vars.Anchors...)
	}
	return texts
}

// enclosed lists every text the tag must not occur in.
func (r *rendering) enclosed() []string {
	texts := append(r.stable(), r.order)
	if r.shape.shows("rubric") {
		texts = append(texts, r.rubrics)
	}
	if r.shape.candidates != none {
		texts = append(texts, r.vars.Candidates...)
	}
	if r.shape.shows("lookahead") {
		texts = append(texts, r.vars.Lookahead...)
	}
	if r.shape.shows("ranked") {
		texts = append(texts, r.vars.Ranked...)
	}
	return texts
}

func (r *rendering) write(b *strings.Builder, tpl template) {
	for _, s := range tpl {
		b.WriteString(s.literal)
		r.variable(b, s.variable)
		if r.header.lookahead > 0 {
			b.WriteString(s.emptyLine)
		}
	}
}

// variable writes what stands for one {{name}}.
func (r *rendering) variable(b *strings.Builder, name string) {
	v, tag := r.vars, r.header.tag
	switch name {
	case "query":
		r.query(b)
	case "rubrics", "rubric":
		writeBlock(b, "RUBRICS", tag, r.rubrics)
	case "anchors":
		if r.shape.anchorIDs {
			writeIDs(b, r.header.anchors)
			return
		}
		r.list(b, v.Anchors, anchorID)
	case "candidate", "candidates":
		r.list(b, v.Candidates, r.shape.candidateID)
	case "lookahead":
		if len(v.Lookahead) > 0 {
			b.WriteString(lookaheadHeading)
		}
		r.list(b, v.Lookahead, lookaheadID)
	case "ranked":
		r.list(b, v.Ranked, rankedID)
	case "order":
		writeBlock(b, "ORDER", tag, r.order)
	case "k":
		b.WriteString(strconv.Itoa(r.header.anchors))
	case "last":
		b.WriteString(strconv.Itoa(r.header.anchors - 1))
	case "n":
		b.WriteString(strconv.Itoa(r.header.candidates + r.header.ranked)) // no kind has both
	case "keep":
		b.WriteString(strconv.Itoa(r.header.keep))
	case "winners":
		b.WriteString(strconv.Itoa(r.header.winners))
	case "candidate_ids":
		writeCandidateIDs(b, len(v.Candidates))
	}
}

func (r *rendering) query(b *strings.Builder) {
	if len(r.vars.Query.Messages) == 0 {
		writeBlock(b, "QUERY", r.header.tag, r.vars.Query.Text)
		return
	}
	for i, m := range r.vars.Query.Messages {
		if i > 0 {
			b.WriteByte('\n')
		}
		writeBlock(b, queryID(i, m.Role), r.header.tag, m.Content)
	}
}

func (r *rendering) list(b *strings.Builder, texts []string, id func(int) string) {
	for i, text := range texts {
		if i > 0 {
			b.WriteByte('\n')
		}
		writeBlock(b, id(i), r.header.tag, text)
	}
}

// writeIDs lists anchors by id only, worst first.
func writeIDs(b *strings.Builder, n int) {
	for i := range n {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("[" + anchorID(i) + "]")
	}
}

// writeCandidateIDs writes the candidates' numbers as a JSON list: [0, 1, 2].
func writeCandidateIDs(b *strings.Builder, n int) {
	b.WriteByte('[')
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(i))
	}
	b.WriteByte(']')
}
