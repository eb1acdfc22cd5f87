package rank

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/judge/ledger"
	"github.com/rankbuffer/rankbuffer/core/reward"
)

// Response is one rollout as the caller hands it in.
type Response struct {
	Text       string
	Ineligible bool
	Format     *float64 // the caller's format score in 0..1; nil asks the method's check
}

// Candidate is a distinct answer the judge may see. Without dedupe every
// response is its own candidate.
type Candidate struct {
	ID      string // hash of the text, then the response's index if not deduplicated
	Text    string // the answer alone, reasoning stripped
	Members []int  // indices of the responses with this answer; complete once all arrived
}

// Index is the candidate's place in the group, known once all have arrived.
func (c *Candidate) Index() int { return slices.Min(c.Members) }

// Size is how many responses gave this answer, known once all have arrived.
func (c *Candidate) Size() float64 { return float64(len(c.Members)) }

// Group is one group under judgement. Responses may arrive while the method is
// already running; a whole group is one whose responses all came first.
type Group struct {
	Spec
	options   Options
	reasoning reward.Reasoning
	env       Env
	ledger    *ledger.Ledger // the account of the group's calls

	mu         sync.Mutex // guards what follows
	slots      []slot
	candidates []*Candidate // in order of arrival
	byID       map[string]*Candidate
	failures   map[*Candidate]Status
	partial    bool
	failure    error // the one that the result names
	remarks    map[string]any
	first      firstShown
	closed     bool
	arrived    chan struct{} // closed and replaced at every arrival
	ended      chan struct{} // closed when no more can arrive
}

// slot is the place of one response.
type slot struct {
	status Status // "" until it arrives
	format float64
	cand   *Candidate // nil for empty and ineligible ones
}

// unjudged reports whether the response never reaches the judge.
func (s slot) unjudged() bool { return s.status == Empty || s.status == Ineligible }

// NewGroup makes a group that waits for spec.Size responses.
// Spec.Buffer and Spec.Epoch may still be set until the method runs.
func NewGroup(spec Spec, options Options, reasoning reward.Reasoning, env Env) *Group {
	return &Group{
		Spec: spec, options: options, reasoning: reasoning, env: env, ledger: new(ledger.Ledger),
		slots: make([]slot, spec.Size), byID: map[string]*Candidate{},
		failures: map[*Candidate]Status{}, arrived: make(chan struct{}), ended: make(chan struct{}),
	}
}

// Add puts a response in its place; the group closes when all places are taken.
func (g *Group) Add(index int, r Response) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case index < 0 || index >= len(g.slots):
		return fault.New(fault.InvalidValue, "index", "need a number from 0 to %d, got %d", len(g.slots)-1, index)
	case g.closed:
		return fault.New(fault.GroupEnded, "", "response %d came after the group was closed", index)
	case g.slots[index].status != "":
		return fault.New(fault.InvalidValue, "index", "response %d was already added", index)
	}
	s := slot{status: OK, format: reward.Format(g.options.FormatCheck, r.Text)}
	if r.Format != nil {
		s.format = *r.Format
	}
	answer := g.Answer(r.Text)
	switch {
	case r.Ineligible:
		s.status = Ineligible
	case strings.TrimSpace(answer) == "":
		s.status = Empty
	default:
		s.cand = g.candidate(answer, index)
	}
	g.slots[index] = s
	if !slices.ContainsFunc(g.slots, func(s slot) bool { return s.status == "" }) {
		g.end()
	}
	g.wake()
	return nil
}

func (g *Group) candidate(answer string, index int) *Candidate {
	id := contentID(answer)
	if !g.options.Dedupe {
		id = fmt.Sprintf("%s/%06d", id, index)
	}
	c := g.byID[id]
	if c == nil {
		c = &Candidate{ID: id, Text: answer}
		g.byID[id] = c
		g.candidates = append(g.candidates, c)
	}
	c.Members = append(c.Members, index)
	return c
}

// contentID is the hash of a text that presentation orders depend on.
func contentID(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Outsider is a text from outside the group that candidates are compared with.
func Outsider(text string) *Candidate { return &Candidate{ID: contentID(text), Text: text} }

// Answer is what a judge may see of a text: what follows its reasoning.
func (g *Group) Answer(text string) string { return g.reasoning.Answer(text) }

// Close ends the arrivals; places still open take the given status. It reports
// whether any were.
func (g *Group) Close(missing Status) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	open := false
	for i := range g.slots {
		if g.slots[i].status == "" {
			g.slots[i].status, open = missing, true
		}
	}
	if open {
		g.note(fault.New(fault.Missing, "", "not every expected response came"))
	}
	g.end()
	g.wake()
	return open
}

// Complete is closed when no more responses can arrive.
func (g *Group) Complete() <-chan struct{} { return g.ended }

// end closes the group once; the caller holds mu.
func (g *Group) end() {
	if !g.closed {
		g.closed = true
		close(g.ended)
	}
}

// wake tells whoever waits in await; the caller holds mu.
func (g *Group) wake() {
	close(g.arrived)
	g.arrived = make(chan struct{})
}

// Remark adds to the result's detail.
func (g *Group) Remark(key string, value any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.remarks == nil {
		g.remarks = map[string]any{}
	}
	g.remarks[key] = value
}
