package methods

import (
	"cmp"
	"context"
	"fmt"

	"github.com/rankbuffer/rankbuffer/core/buffer"
	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/query"
	"github.com/rankbuffer/rankbuffer/core/rank"
	"github.com/rankbuffer/rankbuffer/core/rank/calls"
)

// RankBuffer ranks a group on its query's ordered buffer of anchors: one coarse
// call places each rollout between two anchors, one fine call orders the
// rollouts that share an interval, and the buffer grows and shrinks by rule
// (RankBuffer, Algorithms 1 and 2). Two dependent rounds of calls.
type RankBuffer struct {
	rank.Options
	K0                int    `json:"k0"`                  // anchors at the start, >= 2
	Init              string `json:"init"`                // auto, ranked or bootstrap
	MaxAnchors        *int   `json:"max_anchors"`         // nil: no limit
	PruneAfterEpochs  int    `json:"prune_after_epochs"`  // H of Algorithm 2
	FreezeAfterEpochs *int   `json:"freeze_after_epochs"` // nil: never
	CoarseOnly        bool   `json:"coarse_only"`         // no fine calls
	OrderOnly         bool   `json:"order_only"`          // the judge sees anchor ids, not their text
	Manager           string `json:"manager"`             // "", llm or llm_lookahead
}

func newRankBuffer() rank.Method {
	return &RankBuffer{Options: rank.Defaults("rankbuffer", 0.2), K0: 4, Init: "auto", PruneAfterEpochs: 3}
}

// Validate implements rank.Method.
func (m *RankBuffer) Validate() error {
	err := cmp.Or(fault.AtLeast("k0", m.K0, 2),
		fault.OneOf("init", m.Init, "auto", "ranked", "bootstrap"),
		fault.AtLeast("prune_after_epochs", m.PruneAfterEpochs, 1),
		fault.OneOf("manager", m.Manager, "", "llm", "llm_lookahead"),
		m.Options.Validate())
	switch {
	case err != nil:
		return err
	case m.MaxAnchors != nil && *m.MaxAnchors < m.K0:
		return fault.New(fault.InvalidValue, "max_anchors", "need at least k0 = %d, got %d", m.K0, *m.MaxAnchors)
	case m.FreezeAfterEpochs != nil && *m.FreezeAfterEpochs < 1:
		return fault.New(fault.InvalidValue, "freeze_after_epochs", "need at least 1, or leave it out to never freeze; got %d", *m.FreezeAfterEpochs)
	}
	return nil
}

func (m *RankBuffer) bufferOptions() buffer.Options {
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
			return nil, fault.New(fault.MissingField, "ranked", "init = \"ranked\" needs at least 2 ranked responses, best first; "+
				"give them, or set init to \"auto\" or \"bootstrap\"")
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
func (m *RankBuffer) Rank(ctx context.Context, g *rank.Group) (rank.Outcome, error) {
	if g.Buffer == nil {
		return m.bootstrap(ctx, g)
	}
	base, err := m.applyPending(ctx, g)
	if err != nil {
		return rank.Outcome{}, err
	}
	at, err := m.coarse(ctx, g, base)
	if err != nil {
		return rank.Outcome{}, err
	}
	out, buckets := at.outcome(g, base), at.buckets(g, base)
	if g.Validate || g.Size == 1 {
		out.Rewards = at.rewards(g, base)
	} else {
		out.Rewards = g.LinearRewards(m.fine(ctx, g, buckets))
	}
	if !g.Validate && g.NothingFailed() {
		out.Buffer, err = m.maintain(ctx, g, base, buckets)
	}
	return out, err
}

// fine orders each bucket of two or more in place by one listwise call (equation
// 8), all at once, and returns the tiers of the whole group. A bucket whose call
// failed, or that coarse-only leaves alone, is one tier.
func (m *RankBuffer) fine(ctx context.Context, g *rank.Group, buckets [][]*rank.Candidate) []rank.Tier {
	ordered := make([]bool, len(buckets))
	g.Together(len(buckets), func(p int) {
		if len(buckets[p]) < 2 || m.CoarseOnly {
			return
		}
		order, err := calls.Order(ctx, g, buckets[p], nil)
		if err != nil {
			g.FailCall(fmt.Errorf("interval %d: %w", p, err))
			return
		}
		buckets[p], ordered[p] = order, true
	})
	var tiers []rank.Tier
	for p, bucket := range buckets {
		switch {
		case ordered[p]:
			tiers = append(tiers, rank.Tiers(bucket)...)
		case len(bucket) > 0:
			tiers = append(tiers, bucket)
		}
	}
	return tiers
}

// bootstrap ranks the first group of a query in one listwise call; rewards and
// anchors come from that order (Algorithm 1, line 9).
func (m *RankBuffer) bootstrap(ctx context.Context, g *rank.Group) (rank.Outcome, error) {
	cs, err := g.All(ctx)
	if err != nil {
		return rank.Outcome{}, err
	}
	switch {
	case g.Validate:
		return g.Unjudged(-1, "the query has no buffer yet and validation starts none"), nil
	case g.Size == 1:
		return g.Unjudged(-1, "the query has no buffer yet and a single response starts none"), nil
	}
	if len(cs) < 2 {
		return rank.Outcome{Rewards: g.LinearRewards([]rank.Tier{cs})}, nil
	}
	order, err := calls.Order(ctx, g, g.Present(cs, "fine"), nil)
	if err != nil {
		return g.Neutralised(cs, -1, err), nil
	}
	out := rank.Outcome{Rewards: g.LinearRewards(rank.Tiers(order))}
	if b := buffer.New(buffer.Bootstrap, rank.Texts(order), m.K0, g.Epoch, g.Step); len(b.Anchors) >= 2 {
		out.Buffer = b // without dedupe all texts may be one
	}
	return out, nil
}

// maintain is Algorithm 2, or the manager call that replaces it.
func (m *RankBuffer) maintain(ctx context.Context, g *rank.Group, base *buffer.Buffer, buckets [][]*rank.Candidate) (*buffer.Buffer, error) {
	if m.Manager != "" {
		return m.manage(ctx, g, base, buckets)
	}
	sigma := make([][]string, len(buckets))
	for p, bucket := range buckets {
		sigma[p] = rank.Texts(bucket)
	}
	return base.Update(sigma, g.Epoch, g.Step, m.bufferOptions())
}
