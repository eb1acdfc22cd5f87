package methods

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/rank"
	"github.com/rankbuffer/rankbuffer/core/reward"
)

func TestPRC(t *testing.T) {
	spec := rank.Spec{Reference: "<think>let me see</think>ref q=3"}
	group := append(ofQualities(1, 5), rank.Response{Text: "ref q=3"}, rank.Response{})
	for options, want := range map[string][]float64{
		``:                        {0.1, 0.9, 0.5, 0}, // the oracle's label has probability 0.9
		`"votes": 3`:              {0.1, 0.9, 0.5, 0},
		`"reasoning": true`:       {0.1, 0.9, 0.5, 0},
		`"aggregate": "majority"`: {0, 1, 0.5, 0},
		`"aggregate": "majority", "reasoning": true, "votes": 2`: {0, 1, 0.5, 0},
	} {
		c := &court{}
		res, _ := score(t, method(t, `{"name": "prc"`+join(options)+`}`), c, spec, group, nil)
		if !slices.EqualFunc(res.Rewards, want, near) {
			t.Errorf("%s: rewards %v, want %v", options, res.Rewards, want)
		}
		for _, h := range c.Heard {
			if !slices.Contains(h.Body, "ref q=3") {
				t.Errorf("%s: shown %q, want the reference's answer among them", options, h.Body)
			}
		}
	}
}

// Majority voting is the share of votes; here votes go to slot A.
func TestPRCShareOfVotes(t *testing.T) {
	m := method(t, `{"name": "prc", "aggregate": "majority", "votes": 3}`)
	res, _ := score(t, m, &oracle{Say: firstShown}, suiteSpec(), ofQualities(1), nil)
	if r := res.Rewards[0]; !near(r, 1.0/3) && !near(r, 2.0/3) {
		t.Errorf("share %v, want one or two thirds", r)
	}
}

func TestPRCReferenceWithoutAnAnswer(t *testing.T) {
	o := &oracle{}
	res, _ := score(t, method(t, `{"name": "prc"}`), o, rank.Spec{Reference: "<think>never ends"}, ofQualities(1, 2), nil)
	if res.GroupStatus != rank.GroupFailed || !strings.Contains(res.Error, "reference") || len(o.Asked) != 0 {
		t.Errorf("group %s, error %q, %d calls", res.GroupStatus, res.Error, len(o.Asked))
	}
}

// mute is an endpoint without log-probabilities.
type mute struct{ court }

func (m *mute) Judge(ctx context.Context, req judge.Request) (judge.Reply, error) {
	reply, err := m.court.Judge(ctx, req)
	reply.Tokens = nil
	return reply, err
}

func TestNoLogProbsCostsOneCall(t *testing.T) {
	for _, options := range []string{`{"name": "genrm"}`, `{"name": "prc", "votes": 3}`, `{"name": "prc", "reasoning": true}`} {
		synctest.Test(t, func(t *testing.T) {
			j := &mute{court{Latency: func(string) time.Duration { return time.Second }}}
			env := rank.Env{Judge: j, LogProbs: rank.NewLogProbs()}
			for range 2 {
				res := scoreIn(t, env, method(t, options), suiteSpec(), ofQualities(1, 2, 3, 4))
				if res.GroupStatus != rank.GroupFailed || !strings.Contains(res.Error, "log-probabilities") {
					t.Errorf("%s: group %s, error %q", options, res.GroupStatus, res.Error)
				}
			}
			if j.Count() != 1 {
				t.Errorf("%s: %d calls until it was known, want 1", options, j.Count())
			}
		})
	}
	j := &mute{}
	res := scoreIn(t, rank.Env{Judge: j, LogProbs: rank.NewLogProbs()},
		method(t, `{"name": "prc", "aggregate": "majority"}`), suiteSpec(), ofQualities(1, 2))
	if res.GroupStatus != rank.OK {
		t.Errorf("majority voting: group %s, error %q: it needs none", res.GroupStatus, res.Error)
	}
}

// With log-probabilities only the first call goes alone.
func TestLogProbsHoldUpOneRoundOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &court{Latency: func(string) time.Duration { return time.Second }}
		env := rank.Env{Judge: c, LogProbs: rank.NewLogProbs()}
		for _, want := range []time.Duration{2 * time.Second, time.Second} {
			start := time.Now()
			res := scoreIn(t, env, method(t, `{"name": "genrm"}`), suiteSpec(), ofQualities(1, 2, 3, 9))
			if took := time.Since(start); took != want || res.GroupStatus != rank.OK {
				t.Errorf("group %s after %v, want %v", res.GroupStatus, took, want)
			}
		}
	})
}

// scoreIn runs a whole group in an environment of its own.
func scoreIn(t *testing.T, env rank.Env, m rank.Method, spec rank.Spec, responses []rank.Response) rank.Result {
	t.Helper()
	spec.Size = len(responses)
	g := rank.NewGroup(spec, m.Shared(), reward.DefaultReasoning, env)
	for i, r := range responses {
		if err := g.Add(i, r); err != nil {
			t.Fatal(err)
		}
	}
	res, _, err := rank.Score(t.Context(), m, g, rank.FailMean)
	if err != nil {
		t.Fatal(err)
	}
	return res
}
