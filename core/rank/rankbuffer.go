package rank

import (
	"context"
	"fmt"

	"github.com/rankbuffer/rankbuffer/core/buffer"
	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/verdict"
	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/query"
)

// RankBuffer ranks a group on its query's ordered buffer of anchors: one coarse
// call places each rollout between two anchors, one fine call orders the
// rollouts that share an interval, and the buffer grows and shrinks by rule
// (RankBuffer, Algorithms 1 and 2). Two dependent rounds of calls.
type RankBuffer struct {
	Common
	K0                int    `json:"k0"`                  // anchors at the start, >= 2
	Init              string `json:"init"`                // auto, ranked or bootstrap
	MaxAnchors        *int   `json:"max_anchors"`         // nil: no limit
	PruneAfterEpochs  int    `json:"prune_after_epochs"`  // H of Algorithm 2
	FreezeAfterEpochs *int   `json:"freeze_after_epochs"` // nil: never
	CoarseOnly        bool   `json:"coarse_only"`         // no fine calls
	OrderOnly         bool   `json:"order_only"`          // the judge sees anchor ids, not their text
	Manager           string `json:"manager"`             // "", llm or llm_lookahead
}

func newRankBuffer() Method {
	return &RankBuffer{Common: common("rankbuffer", 0.2), K0: 4, Init: "auto", PruneAfterEpochs: 3}
}

func (m *RankBuffer) validate() error {
	switch {
	case m.K0 < 2:
		return fmt.Errorf("k0: %d is below 2, a scale needs two ends", m.K0)
	case m.Init != "auto" && m.Init != "ranked" && m.Init != "bootstrap":
		return fmt.Errorf("init: %q is not one of auto, ranked, bootstrap", m.Init)
	case m.MaxAnchors != nil && *m.MaxAnchors < 2:
		return fmt.Errorf("max_anchors: %d is below 2", *m.MaxAnchors)
	case m.MaxAnchors != nil && *m.MaxAnchors < m.K0:
		return fmt.Errorf("max_anchors: %d is below k0 = %d", *m.MaxAnchors, m.K0)
	case m.PruneAfterEpochs < 1:
		return fmt.Errorf("prune_after_epochs: %d is below 1", m.PruneAfterEpochs)
	case m.FreezeAfterEpochs != nil && *m.FreezeAfterEpochs < 1:
		return fmt.Errorf("freeze_after_epochs: %d is below 1 (leave it out to never freeze)", *m.FreezeAfterEpochs)
	case m.Manager != "" && m.Manager != "llm" && m.Manager != "llm_lookahead":
		return fmt.Errorf("manager: %q is not one of null, llm, llm_lookahead", m.Manager)
	}
	return m.Common.validate()
}

func (m *RankBuffer) options() buffer.Options {
	o := buffer.Options{PruneAfter: m.PruneAfterEpochs}
	if m.MaxAnchors != nil {
		o.MaxAnchors = *m.MaxAnchors
	}
	if m.FreezeAfterEpochs != nil {
		o.FreezeAfter = *m.FreezeAfterEpochs
	}
	return o
}

// Start selects K0 of the query's ranked responses; without any, the first
// group bootstraps the buffer.
func (m *RankBuffer) Start(q query.Query) (*buffer.Buffer, error) {
	if m.Init == "bootstrap" {
		return nil, nil
	}
	if len(q.Ranked) == 0 {
		if m.Init == "ranked" {
			return nil, fmt.Errorf("ranked: init = \"ranked\" needs at least 2 ranked responses, best first; give them or set init to \"auto\" or \"bootstrap\"")
		}
		return nil, nil
	}
	worstFirst := make([]string, len(q.Ranked))
	for i, text := range q.Ranked {
		worstFirst[len(q.Ranked)-1-i] = text
	}
	return buffer.New(buffer.Ranked, worstFirst, m.K0, 0, 0), nil
}

// Rank implements Algorithm 1.
func (m *RankBuffer) Rank(ctx context.Context, g *Group) (Outcome, error) {
	if g.Buffer == nil {
		return m.bootstrap(ctx, g)
	}
	base, err := m.applyPending(ctx, g)
	if err != nil {
		return Outcome{}, err
	}
	at := m.coarse(ctx, g, base)
	if _, err := g.All(ctx); err != nil {
		return Outcome{}, err
	}
	out := m.positions(g, base, at)
	if g.Validate || g.Size == 1 {
		out.Rewards = onScale(g, base, at)
		if !g.Validate && g.unhurt() {
			out.Buffer, err = m.maintain(ctx, g, base, m.buckets(g, base, at))
		}
		return out, err
	}
	buckets := m.buckets(g, base, at)
	tiers := m.fine(ctx, g, buckets)
	out.Rewards = g.LinearRewards(tiers)
	if g.unhurt() {
		out.Buffer, err = m.maintain(ctx, g, base, buckets)
	}
	return out, err
}

// coarse places every candidate as it arrives: the number of anchors the judge
// finds strictly worse (equation 6).
func (m *RankBuffer) coarse(ctx context.Context, g *Group, base *buffer.Buffer) *placements {
	at := newPlacements()
	kind, anchors := prompt.Coarse, base.Texts()
	if m.OrderOnly {
		kind = prompt.CoarseOrder
	}
	g.Each(ctx, func(ctx context.Context, c *Candidate) {
		v := prompt.Vars{Anchors: anchors, Candidates: []string{c.Text}}
		p, err := ask(ctx, g, kind, v, nil, func(r judge.Reply) (int, error) {
			return verdict.Position(r.Text, len(anchors))
		})
		if err != nil {
			g.Fail(fmt.Errorf("rankbuffer: coarse: %w", err), c)
			return
		}
		at.set(c, p)
	})
	return at
}

// buckets are C_0..C_K (equation 7), each in presentation order.
func (m *RankBuffer) buckets(g *Group, base *buffer.Buffer, at *placements) [][]*Candidate {
	buckets := make([][]*Candidate, len(base.Anchors)+1)
	for _, c := range g.Present(at.candidates(), "fine") {
		p := at.of[c]
		buckets[p] = append(buckets[p], c)
	}
	return buckets
}

// fine orders each bucket of two or more in place by one listwise call (equation
// 8), all at once, and returns the tiers of the whole group. A bucket whose call
// failed, or that coarse-only leaves alone, is one tier.
func (m *RankBuffer) fine(ctx context.Context, g *Group, buckets [][]*Candidate) []Tier {
	ordered := make([]bool, len(buckets))
	g.Together(len(buckets), func(p int) {
		if len(buckets[p]) < 2 || m.CoarseOnly {
			return
		}
		order, err := listwise(ctx, g, buckets[p], nil)
		if err != nil {
			g.FailCall(fmt.Errorf("rankbuffer: fine: interval %d: %w", p, err))
			return
		}
		buckets[p], ordered[p] = order, true
	})
	var tiers []Tier
	for p, bucket := range buckets {
		switch {
		case ordered[p]:
			for _, c := range bucket {
				tiers = append(tiers, Tier{c})
			}
		case len(bucket) > 0:
			tiers = append(tiers, bucket)
		}
	}
	return tiers
}

// bootstrap ranks the first group of a query in one listwise call; rewards and
// anchors come from that order (Algorithm 1, line 9).
func (m *RankBuffer) bootstrap(ctx context.Context, g *Group) (Outcome, error) {
	cs, err := g.All(ctx)
	if err != nil {
		return Outcome{}, err
	}
	switch {
	case g.Validate:
		return unjudged(g, -1, "the query has no buffer yet and validation starts none"), nil
	case g.Size == 1:
		return unjudged(g, -1, "the query has no buffer yet and a single response starts none"), nil
	}
	if len(cs) < 2 {
		return Outcome{Rewards: g.LinearRewards([]Tier{cs})}, nil
	}
	order, err := listwise(ctx, g, g.Present(cs, "fine"), nil)
	if err != nil {
		g.Fail(fmt.Errorf("rankbuffer: bootstrap: %w", err), cs...)
		return Outcome{Rewards: g.LinearRewards(nil)}, nil
	}
	tiers := make([]Tier, len(order))
	for i, c := range order {
		tiers[i] = Tier{c}
	}
	out := Outcome{Rewards: g.LinearRewards(tiers)}
	if b := buffer.New(buffer.Bootstrap, texts(order), m.K0, g.Epoch, g.Step); len(b.Anchors) >= 2 {
		out.Buffer = b // without dedupe all texts may be one
	}
	return out, nil
}

// maintain is Algorithm 2, or the manager call that replaces it.
func (m *RankBuffer) maintain(ctx context.Context, g *Group, base *buffer.Buffer, buckets [][]*Candidate) (*buffer.Buffer, error) {
	if m.Manager != "" {
		return m.manage(ctx, g, base, buckets)
	}
	sigma := make([][]string, len(buckets))
	for p, bucket := range buckets {
		sigma[p] = texts(bucket)
	}
	next, err := base.Update(sigma, g.Epoch, g.Step, m.options())
	if err != nil {
		return nil, fmt.Errorf("rankbuffer: maintenance: %w", err)
	}
	return next, nil
}
