package rank

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/rankbuffer/rankbuffer/core/buffer"
	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/reward"
)

// OnFailure says what failed responses are rewarded with.
type OnFailure string

// The policies of a failure.
const (
	FailMean    OnFailure = "mean"    // the mean total reward of the others, so that their advantage is 0
	FailNeutral OnFailure = "neutral" // any failure rewards the whole group 0
	FailRaise   OnFailure = "raise"   // any failure is an error of the group
)

// Result is what a group comes back with. Slices are parallel to its responses.
type Result struct {
	GroupID       string         `json:"group_id"` // query_id/step/ordinal
	QueryID       string         `json:"query_id"`
	Method        string         `json:"method"`
	Epoch         int            `json:"epoch"`
	Step          int            `json:"step"`
	Rewards       []float64      `json:"rewards"`    // with the format reward; always finite
	Advantages    []float64      `json:"advantages"` // (r - mean) / (std + 1e-6), ddof 1; or r - mean (Env.Centred)
	Ranks         []float64      `json:"ranks"`      // 0 = worst, ties averaged
	Positions     []*int         `json:"positions"`  // coarse position 0..K
	Progress      []*float64     `json:"progress"`   // share of the initial anchors left that lie below
	Status        []Status       `json:"status"`
	GroupStatus   Status         `json:"group_status"` // ok, partial or failed
	AnchorsBefore int            `json:"anchors_before"`
	Anchors       int            `json:"anchors"` // after the update
	Calls         map[string]int `json:"calls"`   // requests sent, by kind
	Tokens        judge.Usage    `json:"tokens"`
	FirstShown    *FirstShown    `json:"first_shown,omitempty"` // of the calls that compare candidates
	LatencyMS     float64        `json:"latency_ms"`
	RewardStd     float64        `json:"reward_std"`              // ddof 1
	Applied       bool           `json:"applied"`                 // it changed its query's buffer
	Error         string         `json:"error,omitempty"`         // the first failure in full
	ErrorCode     fault.Code     `json:"error_code,omitempty"`    // its code
	ErrorSummary  string         `json:"error_summary,omitempty"` // it in our own words, safe to log
	Detail        map[string]any `json:"detail,omitempty"`
}

// Score runs the method on the group and completes its outcome: statuses,
// format reward, failed responses, ranks, advantages and accounts. The returned
// buffer is what the query's buffer becomes, nil if it stays.
func Score(ctx context.Context, m Method, g *Group, policy OnFailure) (Result, *buffer.Buffer, error) {
	out, err := run(ctx, m, g)
	if err != nil {
		// Every response that is not empty fails with the error.
		g.Close(Status(judge.FailureOf(err)))
		cs, _ := g.All(context.Background())
		g.Fail(err, cs...)
		out = Outcome{}
	}
	res := g.complete(m, out)
	if policy == FailNeutral && res.GroupStatus != OK {
		clear(res.Rewards)
	}
	res.Advantages = reward.Advantages(res.Rewards, !g.env.Centred)
	for i, s := range res.Status {
		if s.Failed() {
			res.Advantages[i] = 0 // what is left of it is rounding
		}
	}
	res.RewardStd = reward.Std(res.Rewards)
	if g.Validate || res.GroupStatus != OK {
		out.Buffer = nil
	}
	if policy == FailRaise && res.GroupStatus != OK {
		return res, nil, fmt.Errorf("the group's status is %q: %w", res.GroupStatus, g.failure)
	}
	return res, out.Buffer, nil
}

// run guards the host process against a panic of the method.
func run(ctx context.Context, m Method, g *Group) (out Outcome, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = panicError(r)
		}
	}()
	return m.Rank(ctx, g)
}

// complete fills in what all methods share.
func (g *Group) complete(m Method, out Outcome) Result {
	n := len(g.slots)
	res := Result{
		QueryID: g.Query.ID, Method: m.Shared().Name, Epoch: g.Epoch, Step: g.Step,
		Rewards: make([]float64, n), Ranks: make([]float64, n), Advantages: make([]float64, n),
		Positions: orMake(out.Positions, n), Progress: orMake(out.Progress, n),
		Status: make([]Status, n), Calls: g.ledger.Calls(), Tokens: g.ledger.Usage(),
		FirstShown: g.first.report(), Detail: g.remarks,
	}
	if g.Buffer != nil {
		res.AnchorsBefore = len(g.Buffer.Anchors)
		res.Anchors = res.AnchorsBefore
	}
	rewards := orMake(out.Rewards, n)
	var known []int // responses with a reward of their own
	var raw, total []float64
	for i, s := range g.slots {
		res.Status[i] = g.statusOf(s, rewards[i])
		if res.Status[i].Failed() {
			res.Positions[i], res.Progress[i] = nil, nil
			continue
		}
		known = append(known, i)
		raw = append(raw, rewards[i])
		total = append(total, rewards[i]+m.Shared().FormatWeight*s.format)
	}
	// Failed responses take the mean total reward, hence no advantage, and the
	// middle rank.
	mean, ranks := reward.Mean(total), reward.Ranks(raw)
	for i := range n {
		res.Rewards[i] = mean
		res.Ranks[i] = max(0, float64(len(known)-1)/2)
	}
	if res.GroupStatus = g.groupStatus(res.Status); res.GroupStatus != OK {
		first := fault.From(g.failure)
		res.Error, res.ErrorCode, res.ErrorSummary = g.failure.Error(), first.Code, first.Summary()
	}
	for k, i := range known {
		if res.Ranks[i] = ranks[k]; res.GroupStatus != GroupFailed { // nobody gains by the format alone
			res.Rewards[i] = total[k]
		}
	}
	return res
}

// statusOf is the response's final status; a reward that is no number is a
// failure too, never passed on.
func (g *Group) statusOf(s slot, r float64) Status {
	if s.cand == nil {
		return s.status
	}
	if failed := g.failures[s.cand]; failed != "" {
		return failed
	}
	if math.IsNaN(r) || math.IsInf(r, 0) {
		g.note(fault.New(fault.Internal, "", "internal error: the reward is not a finite number"))
		return JudgeFailed
	}
	return s.status
}

// groupStatus sums up the statuses of the responses.
func (g *Group) groupStatus(statuses []Status) Status {
	failed := slices.ContainsFunc(statuses, Status.Failed)
	switch {
	case failed && !slices.Contains(statuses, OK):
		return GroupFailed
	case failed || g.partial:
		return Partial
	default:
		return OK
	}
}

func orMake[T any](xs []T, n int) []T {
	if len(xs) == n {
		return xs
	}
	return make([]T, n)
}
