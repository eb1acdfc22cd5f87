package methods

import (
	"context"
	"errors"
	"fmt"

	"github.com/rankbuffer/rankbuffer/core/buffer"
	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/verdict"
	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/rank"
)

// manage updates the buffer by a manager call instead of by rule (RankBuffer,
// Appendix G): at once, or with look-ahead at the query's next visit.
func (m *RankBuffer) manage(ctx context.Context, g *rank.Group, base *buffer.Buffer, buckets [][]*rank.Candidate) (*buffer.Buffer, error) {
	next := base.Count(g.Epoch)
	if base.Frozen(g.Epoch, m.bufferOptions()) {
		return next, nil
	}
	order := combined(base, buckets)
	pending := &buffer.Pending{Order: order, Keep: min(m.K0, len(order)), Epoch: g.Epoch, Step: g.Step}
	if m.Manager == "llm_lookahead" {
		return next.WithPending(pending), nil
	}
	chosen, err := m.choose(ctx, g, next, pending, nil)
	if err != nil {
		g.FailCall(err) // no maintenance
	}
	return chosen, nil
}

// applyPending makes the update that look-ahead delayed, before the new group's
// coarse calls; the manager sees the new rollouts as context only. A validation
// group leaves it for the next training group.
func (m *RankBuffer) applyPending(ctx context.Context, g *rank.Group) (*buffer.Buffer, error) {
	pending := g.Buffer.Pending
	if m.Manager != "llm_lookahead" || pending == nil || g.Validate {
		return g.Buffer, nil
	}
	cs, err := g.All(ctx)
	if err != nil {
		return nil, err
	}
	chosen, err := m.choose(ctx, g, g.Buffer.WithPending(nil), pending, rank.Texts(g.Present(cs, "lookahead")))
	if err != nil {
		g.FailCall(err) // the update stays pending
		return g.Buffer, nil
	}
	return chosen, nil
}

// combined is the order of anchors and rollouts, worst first. A rollout that
// repeats an anchor is left out: it could only be added twice.
func combined(base *buffer.Buffer, buckets [][]*rank.Candidate) []buffer.Placed {
	known := map[string]bool{}
	for _, text := range base.Texts() {
		known[text] = true
	}
	var order []buffer.Placed
	for p, bucket := range buckets {
		for _, c := range bucket {
			if !known[c.Text] {
				known[c.Text] = true
				order = append(order, buffer.Placed{Text: c.Text})
			}
		}
		if p < len(base.Anchors) {
			order = append(order, buffer.Placed{Text: base.Anchors[p].Text, Anchor: true})
		}
	}
	return order
}

// choose asks the manager for the next anchors. An invalid answer leaves the
// anchors as they are and is remarked in the result's detail; it is no failed
// call, or a delayed update would come back at every visit of a judge that cannot
// make it.
func (m *RankBuffer) choose(ctx context.Context, g *rank.Group, base *buffer.Buffer, pending *buffer.Pending, lookahead []string) (*buffer.Buffer, error) {
	v := prompt.Vars{Keep: pending.Keep, Lookahead: lookahead}
	for _, item := range pending.Order {
		if item.Anchor {
			v.Order = append(v.Order, fmt.Sprintf("A%d", len(v.Anchors)))
			v.Anchors = append(v.Anchors, item.Text)
		} else {
			v.Order = append(v.Order, fmt.Sprintf("R%d", len(v.Candidates)))
			v.Candidates = append(v.Candidates, item.Text)
		}
	}
	chosen, err := rank.Ask(ctx, g, prompt.Manager, v, nil, func(r judge.Reply) (map[string]bool, error) {
		keep, add, err := verdict.Manager(r.Text, pending.Keep, len(v.Anchors), len(v.Candidates))
		ids := map[string]bool{}
		for _, i := range keep {
			ids[fmt.Sprintf("A%d", i)] = true
		}
		for _, i := range add {
			ids[fmt.Sprintf("R%d", i)] = true
		}
		return ids, err
	})
	if errors.Is(err, fault.JudgeNoVerdict) {
		g.Remark("manager_error", err.Error())
		return base, nil
	}
	if err != nil {
		return nil, err
	}
	var next []string
	for i, item := range pending.Order {
		if chosen[v.Order[i]] {
			next = append(next, item.Text)
		}
	}
	return base.Replace(next, pending.Epoch, pending.Step), nil
}
