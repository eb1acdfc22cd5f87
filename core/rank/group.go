package rank

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/rankbuffer/rankbuffer/core/judge"
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
	ID   string // hash of the text, then the response's index if not deduplicated
	Text string // the answer alone, reasoning stripped

	members []int // indices of the responses with this answer; complete once all arrived
}

// index is the candidate's place in the group, known once all have arrived.
func (c *Candidate) index() int { return slices.Min(c.members) }

// size is how many responses gave this answer, known once all have arrived.
func (c *Candidate) size() float64 { return float64(len(c.members)) }

// Group is one group under judgement. Responses may arrive while the method is
// already running; a whole group is one whose responses all came first.
type Group struct {
	Spec
	asker     asker
	common    Common
	reasoning reward.Reasoning

	mu         sync.Mutex // guards what follows
	slots      []slot
	candidates []*Candidate // in order of arrival
	byID       map[string]*Candidate
	failures   map[*Candidate]Status
	partial    bool
	told       string // the failure that the result names
	remarks    map[string]any
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

// NewGroup makes a group that waits for spec.Size responses.
// Spec.Buffer and Spec.Epoch may still be set until the method runs.
func NewGroup(spec Spec, common Common, reasoning reward.Reasoning, env Env) *Group {
	return &Group{
		Spec: spec, asker: newAsker(spec, env), common: common, reasoning: reasoning,
		slots: make([]slot, spec.Size), byID: map[string]*Candidate{},
		failures: map[*Candidate]Status{}, arrived: make(chan struct{}), ended: make(chan struct{}),
	}
}

// ErrLate is wrapped when a response comes for a group that takes no more.
var ErrLate = errors.New("came after the group was closed")

// Add puts a response in its place; the group closes when all places are taken.
func (g *Group) Add(index int, r Response) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case index < 0 || index >= len(g.slots):
		return fmt.Errorf("index %d is outside the group of %d", index, len(g.slots))
	case g.closed:
		return fmt.Errorf("response %d %w", index, ErrLate)
	case g.slots[index].status != "":
		return fmt.Errorf("response %d was already added", index)
	}
	s := slot{status: OK, format: reward.Format(g.common.FormatCheck, r.Text)}
	if r.Format != nil {
		s.format = *r.Format
	}
	answer := g.reasoning.Answer(r.Text)
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
	if !g.common.Dedupe {
		id = fmt.Sprintf("%s/%06d", id, index)
	}
	c := g.byID[id]
	if c == nil {
		c = &Candidate{ID: id, Text: answer}
		g.byID[id] = c
		g.candidates = append(g.candidates, c)
	}
	c.members = append(c.members, index)
	return c
}

// contentID is the hash of a text that presentation orders depend on.
func contentID(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// outsider is a text from outside the group that candidates are compared with.
func outsider(text string) *Candidate { return &Candidate{ID: contentID(text), Text: text} }

var errMissing = errors.New("not every expected response came")

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
		g.note(errMissing)
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

// wake tells whoever waits in next; the caller holds mu.
func (g *Group) wake() {
	close(g.arrived)
	g.arrived = make(chan struct{})
}

// next waits for the i-th candidate; false means there will be none.
func (g *Group) next(ctx context.Context, i int) (c *Candidate, ok bool) {
	g.await(ctx, func() bool {
		if i < len(g.candidates) {
			c, ok = g.candidates[i], true
		}
		return ok
	})
	return c, ok
}

// leader waits for the first response that is not empty, by the order of the
// group and not of arrival; false means there is none.
func (g *Group) leader(ctx context.Context) (c *Candidate, ok bool) {
	g.await(ctx, func() bool {
		for _, s := range g.slots {
			if s.status == "" || s.cand != nil {
				c, ok = s.cand, s.cand != nil
				return ok
			}
		}
		return false
	})
	return c, ok
}

// await returns when what it waits for is there, when no more responses can
// come or when the context ends. ready is called with mu held.
func (g *Group) await(ctx context.Context, ready func() bool) {
	for {
		g.mu.Lock()
		done, arrived := ready() || g.closed, g.arrived
		g.mu.Unlock()
		if done {
			return
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return
		}
	}
}

// All waits for every response and returns the candidates ordered by ID.
func (g *Group) All(ctx context.Context) ([]*Candidate, error) {
	for i := 0; ; i++ {
		if _, ok := g.next(ctx, i); !ok {
			break
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		return nil, context.Cause(ctx)
	}
	all := slices.Clone(g.candidates)
	slices.SortFunc(all, func(a, b *Candidate) int { return strings.Compare(a.ID, b.ID) })
	return all, nil
}

// Fail records that a call about these candidates has no usable answer. They
// take no part in the ranking and the group changes no buffer.
func (g *Group) Fail(err error, cs ...*Candidate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	status := Status(judge.FailureOf(err))
	for _, c := range cs {
		g.failures[c] = worse(status, g.failures[c])
	}
	g.note(err)
}

// FailCall records a failed call that no single candidate answers for.
func (g *Group) FailCall(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.partial = true
	g.note(err)
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

func (g *Group) note(err error) {
	// Of several failures the same one is told however the calls interleave.
	if text := err.Error(); g.told == "" || text < g.told {
		g.told = text
	}
}

// Failed reports whether the candidate has failed.
func (g *Group) Failed(c *Candidate) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failures[c] != ""
}
