package prompt

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rankbuffer/rankbuffer/core/query"
)

// ErrNotRendered is wrapped when messages are not a request that Render wrote.
var ErrNotRendered = errors.New("not a rendered request")

// Text is one marked text and the id it was shown with.
type Text struct{ ID, Body string }

// Document is what a request shows, read back from its messages.
type Document struct {
	Kind       Kind
	Query      query.Prompt
	Rubrics    string // the rubric section as shown, without its markers
	Anchors    []Text // worst to best; none for CoarseOrder
	Candidates []Text // in shown order
	Lookahead  []Text
	Ranked     []Text // best first

	AnchorCount int      // anchors shown by text or, for CoarseOrder, by id
	Order       []string // Manager: ids worst to best
	Keep        int      // Manager: ids to return
	Winners     int      // Select: winners to return
}

// Read recovers a request's content from its messages, whatever template they
// were made with: it believes the preamble at the very start of the first
// message and the markers that carry its tag, nothing else. The system message
// may have been merged into the user's ("\n\n" between); later messages (a
// corrective re-ask) are ignored. An error wraps ErrNotRendered.
func Read(msgs []Message) (Document, error) {
	doc, err := read(msgs)
	if err != nil {
		return Document{}, fmt.Errorf("%w: %w", ErrNotRendered, err)
	}
	return doc, nil
}

func read(msgs []Message) (doc Document, err error) {
	h, body, err := split(msgs)
	if err != nil {
		return doc, err
	}
	texts, err := scan(body, h.tag)
	if err != nil {
		return doc, err
	}
	doc = Document{Kind: h.kind, AnchorCount: h.anchors, Keep: h.keep, Winners: h.winners}
	for _, text := range texts {
		if err := doc.place(text); err != nil {
			return doc, err
		}
	}
	return doc, doc.agree(h)
}

// split finds the preamble and the user's message behind it.
func split(msgs []Message) (header, string, error) {
	if len(msgs) == 0 {
		return header{}, "", errors.New("no messages")
	}
	h, rest, ok := parsePreamble(msgs[0].Content)
	if !ok {
		return header{}, "", errors.New("the first message does not start with the renderer's preamble")
	}
	if body, merged := strings.CutPrefix(rest, "\n\n"); merged {
		return h, body, nil
	}
	if rest != "" {
		return header{}, "", errors.New("the preamble is followed by other text")
	}
	if len(msgs) < 2 || msgs[1].Role != "user" {
		return header{}, "", errors.New("no user message after the preamble")
	}
	return h, msgs[1].Content, nil
}

// scan cuts a body into its marked texts, in order. The tag occurs in markers
// only, so that looking for it finds nothing else.
func scan(body, tag string) ([]Text, error) {
	var texts []Text
	end := " #" + tag + "]]"
	for {
		before, after, found := strings.Cut(body, end)
		if !found {
			return texts, nil
		}
		at := strings.LastIndex(before, "[[")
		if at < 0 {
			return nil, errors.New("a marker that does not start")
		}
		id := before[at+len("[["):]
		inner, rest, found := strings.Cut(after, "\n"+closeMarker(id, tag))
		text, ok := strings.CutPrefix(inner, "\n")
		switch {
		case id == "" || strings.ContainsAny(id, "\n[]#/"):
			return nil, fmt.Errorf("a marker with the id %.40q", id)
		case strings.Contains(inner, tag):
			return nil, fmt.Errorf("the tag %s within %s", tag, id)
		case found && inner == "": // "\n" + close right behind: an enclosed text always has two line breaks
			return nil, fmt.Errorf("the marker %s is not followed by a line break", id)
		case !found || !ok:
			return nil, fmt.Errorf("the marker %s is not closed", id)
		}
		texts = append(texts, Text{ID: id, Body: text})
		body = rest
	}
}

// place puts a text where its id says, demanding that ids come in sequence.
func (d *Document) place(t Text) error {
	s := kinds[d.Kind]
	switch {
	case t.ID == "QUERY" && d.Query.Empty():
		d.Query.Text = t.Body
	case strings.HasPrefix(t.ID, "QUERY") && d.Query.Text == "":
		_, role, _ := strings.Cut(t.ID, " ")
		if !query.ValidRole(role) || t.ID != queryID(len(d.Query.Messages), role) {
			return fmt.Errorf("unexpected text %q", t.ID)
		}
		d.Query.Messages = append(d.Query.Messages, query.Message{Role: role, Content: t.Body})
	case t.ID == "RUBRICS" && d.Rubrics == "" && s.showsRubrics():
		d.Rubrics = t.Body
	case t.ID == "ORDER" && d.Order == nil && s.shows("order"):
		d.Order = strings.Split(t.Body, " ")
	case s.candidates != none && (s.candidates != two || len(d.Candidates) < 2) && t.ID == s.candidateID(len(d.Candidates)):
		d.Candidates = append(d.Candidates, t)
	case s.shows("anchors") && !s.anchorIDs && t.ID == anchorID(len(d.Anchors)):
		d.Anchors = append(d.Anchors, t)
	case s.shows("lookahead") && t.ID == lookaheadID(len(d.Lookahead)):
		d.Lookahead = append(d.Lookahead, t)
	case s.shows("ranked") && t.ID == rankedID(len(d.Ranked)):
		d.Ranked = append(d.Ranked, t)
	default:
		return fmt.Errorf("unexpected text %q", t.ID)
	}
	return nil
}

// agree checks that what was found is what the preamble announced, and what its
// kind takes, so that a reader can index without fear.
func (d *Document) agree(h header) error {
	s, shown := kinds[d.Kind], h
	shown.candidates, shown.lookahead, shown.ranked = len(d.Candidates), len(d.Lookahead), len(d.Ranked)
	if !s.anchorIDs {
		shown.anchors = len(d.Anchors)
	}
	if shown != h {
		return fmt.Errorf("announced %q, shown %q", h, shown)
	}
	rubrics := min(len(d.Rubrics), 1)
	return contents{d.Query, rubrics, h.anchors, h.candidates, h.ranked, d.Order, h.keep, h.winners}.check(d.Kind)
}
