package methods

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/query"
	"github.com/rankbuffer/rankbuffer/core/rank"
	"github.com/rankbuffer/rankbuffer/core/rank/calls"
)

// AGR is anchor-guided ranking (RRC, equation 7 and Algorithm 2): every response
// is judged against each of n fixed anchors and rewarded by how many it beats,
// r_i = alpha * |{k : w_ik >= w_ki}| with w the votes. A response identical to an
// anchor ties with it, which counts as beaten, without a call. Where comparisons
// failed, the number beaten is scaled up from the completed ones.
//
// With Search binary the anchors are taken to be in order, and each response is
// inserted among them; the reward is alpha times the number of anchors below it.
// A failed comparison then leaves the place unknown, and the response has failed.
//
// The scale is absolute, so validation groups and single responses are scored
// the same way. Rewards lie in [0, alpha n]. All: one round, votes n calls a
// distinct response; binary: ceil(log2(n+1)) rounds, at most votes as many calls;
// twice the calls with both orders.
type AGR struct {
	calls.Pairing
	Search  string   `json:"search"`  // all or binary
	Anchors []string `json:"anchors"` // best first; null takes the query's ranked responses
	Alpha   float64  `json:"alpha"`
}

func newAGR() rank.Method {
	return &AGR{Pairing: calls.PairDefaults("agr", 1), Search: "all", Alpha: 0.1}
}

// Validate implements rank.Method.
func (m *AGR) Validate() error {
	if m.Anchors != nil && len(m.Anchors) == 0 {
		return fault.New(fault.InvalidValue, "anchors", "the list is empty; leave it out to use each query's ranked responses")
	}
	for i, text := range m.Anchors {
		if strings.TrimSpace(text) == "" {
			return fault.New(fault.InvalidValue, fmt.Sprintf("anchors[%d]", i), "must not be empty")
		}
		if j := slices.Index(m.Anchors, text); j < i {
			return fault.New(fault.InvalidValue, fmt.Sprintf("anchors[%d]", i), "is the same text as anchors[%d]", j)
		}
	}
	return cmp.Or(fault.OneOf("search", m.Search, "all", "binary"), checkAlpha(m.Alpha), m.Pairing.Validate())
}

// Check implements rank.Method.
func (m *AGR) Check(s rank.Spec) error {
	if texts, _ := m.bestFirst(s.Query); len(texts) == 0 {
		return fault.New(fault.MissingField, "ranked", "agr compares each response with anchors, and the query has no ranked responses; "+
			"give them, or method.agr.anchors")
	}
	return nil
}

// bestFirst returns the anchors and the field they come from.
func (m *AGR) bestFirst(q query.Query) (texts []string, field string) {
	if m.Anchors != nil {
		return m.Anchors, "method.agr.anchors"
	}
	return q.Ranked, "ranked"
}

// Rank implements rank.Method.
func (m *AGR) Rank(ctx context.Context, g *rank.Group) (rank.Outcome, error) {
	var anchors []*rank.Candidate // worst first
	texts, field := m.bestFirst(g.Query)
	for i, text := range slices.Backward(texts) {
		answer := g.Answer(text)
		if strings.TrimSpace(answer) == "" {
			return g.Refused(ctx, fault.New(fault.InvalidValue, fmt.Sprintf("%s[%d]", field, i), "has no answer after its reasoning"))
		}
		anchors = append(anchors, rank.Outsider(answer))
	}
	search := m.all
	if m.Search == "binary" {
		search = m.insert
	}
	beaten, err := calls.Evaluate(ctx, g, func(ctx context.Context, c *rank.Candidate) (float64, error) {
		return search(ctx, g, c, anchors)
	})
	if err != nil {
		return rank.Outcome{}, err
	}
	return rank.Outcome{Rewards: g.Spread(func(c *rank.Candidate) float64 { return m.Alpha * beaten[c] }, 0)}, nil
}

// beats judges one response against one anchor.
func (m *AGR) beats(ctx context.Context, g *rank.Group, c, anchor *rank.Candidate) (bool, error) {
	if c.Text == anchor.Text {
		return true, nil
	}
	s, err := m.Judge(ctx, g, c, anchor, calls.Winner(prompt.Pair))
	return s.A >= s.B, err
}

// all compares with every anchor at once and counts those beaten.
func (m *AGR) all(ctx context.Context, g *rank.Group, c *rank.Candidate, anchors []*rank.Candidate) (float64, error) {
	beats, errs := make([]bool, len(anchors)), make([]error, len(anchors))
	g.Together(len(anchors), func(k int) {
		beats[k], errs[k] = m.beats(ctx, g, c, anchors[k])
	})
	beaten, completed := 0.0, 0.0
	for k, err := range errs {
		if err == nil {
			completed++
			if beats[k] {
				beaten++
			}
		}
	}
	err := cmp.Or(errs...)
	if err != nil && completed > 0 {
		g.FailCall(err)
		return beaten * float64(len(anchors)) / completed, nil
	}
	return beaten, err
}

// insert finds the response's place among anchors of known order, worst first,
// and returns how many lie below it.
func (m *AGR) insert(ctx context.Context, g *rank.Group, c *rank.Candidate, anchors []*rank.Candidate) (float64, error) {
	for k, anchor := range anchors {
		if c.Text == anchor.Text {
			return float64(k + 1), nil
		}
	}
	lo, hi := 0, len(anchors) // the place is in lo..hi
	for lo < hi {
		mid := (lo + hi) / 2
		above, err := m.beats(ctx, g, c, anchors[mid])
		if err != nil {
			return 0, err
		}
		if above {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return float64(lo), nil
}
