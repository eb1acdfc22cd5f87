package rank

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/verdict"
	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/reward"
)

func TestPRC(t *testing.T) {
	spec := Spec{Reference: "<think>let me see</think>ref q=3"}
	group := append(ofQualities(1, 5), Response{Text: "ref q=3"}, Response{})
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
		for _, h := range c.heard {
			if !slices.Contains(h.body, "ref q=3") {
				t.Errorf("%s: shown %q, want the reference's answer among them", options, h.body)
			}
		}
	}
}

// Majority voting is the share of votes; here votes go to slot A.
func TestPRCShareOfVotes(t *testing.T) {
	m := method(t, `{"name": "prc", "aggregate": "majority", "votes": 3}`)
	res, _ := score(t, m, &oracle{say: firstShown}, suiteSpec(), ofQualities(1), nil)
	if r := res.Rewards[0]; !near(r, 1.0/3) && !near(r, 2.0/3) {
		t.Errorf("share %v, want one or two thirds", r)
	}
}

func TestPRCReferenceWithoutAnAnswer(t *testing.T) {
	o := &oracle{}
	res, _ := score(t, method(t, `{"name": "prc"}`), o, Spec{Reference: "<think>never ends"}, ofQualities(1, 2), nil)
	if res.GroupStatus != GroupFailed || !strings.Contains(res.Error, "reference") || len(o.asked) != 0 {
		t.Errorf("group %s, error %q, %d calls", res.GroupStatus, res.Error, len(o.asked))
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
			j := &mute{court{latency: func(string) time.Duration { return time.Second }}}
			env := Env{Judge: j, Templates: prompt.Default(), LogProbs: NewLogProbs()}
			for range 2 {
				res := scoreIn(t, env, method(t, options), suiteSpec(), ofQualities(1, 2, 3, 4))
				if res.GroupStatus != GroupFailed || !strings.Contains(res.Error, "log-probabilities") {
					t.Errorf("%s: group %s, error %q", options, res.GroupStatus, res.Error)
				}
			}
			if j.count() != 1 {
				t.Errorf("%s: %d calls until it was known, want 1", options, j.count())
			}
		})
	}
	j := &mute{}
	res := scoreIn(t, Env{Judge: j, Templates: prompt.Default(), LogProbs: NewLogProbs()},
		method(t, `{"name": "prc", "aggregate": "majority"}`), suiteSpec(), ofQualities(1, 2))
	if res.GroupStatus != OK {
		t.Errorf("majority voting: group %s, error %q: it needs none", res.GroupStatus, res.Error)
	}
}

// With log-probabilities only the first call goes alone.
func TestLogProbsHoldUpOneRoundOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &court{latency: func(string) time.Duration { return time.Second }}
		env := Env{Judge: c, Templates: prompt.Default(), LogProbs: NewLogProbs()}
		for _, want := range []time.Duration{2 * time.Second, time.Second} {
			start := time.Now()
			res := scoreIn(t, env, method(t, `{"name": "genrm"}`), suiteSpec(), ofQualities(1, 2, 3, 9))
			if took := time.Since(start); took != want || res.GroupStatus != OK {
				t.Errorf("group %s after %v, want %v", res.GroupStatus, took, want)
			}
		}
	})
}

// Whatever else goes wrong with the first call says nothing of the endpoint.
func TestLogProbsAfterAnotherFailure(t *testing.T) {
	l, calls := NewLogProbs(), 0
	fails := func(err error) func() error { return func() error { calls++; return err } }
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.guard(t.Context(), fails(errDown)); !errors.Is(err, errDown) {
		t.Errorf("got %v", err)
	}
	if err := l.guard(t.Context(), fails(verdict.NoLogProbs())); !errors.Is(err, fault.JudgeNoLogProbs) {
		t.Errorf("got %v", err)
	}
	if err := l.guard(t.Context(), fails(nil)); err != nil || calls != 3 {
		t.Errorf("got %v after %d calls", err, calls)
	}
	l, calls = NewLogProbs(), 0
	l.turn <- struct{}{} // another call is finding out
	if err := l.guard(cancelled, fails(nil)); !errors.Is(err, context.Canceled) || calls != 0 {
		t.Errorf("cancelled while waiting: %v after %d calls", err, calls)
	}
}

// scoreIn runs a whole group in an environment of its own.
func scoreIn(t *testing.T, env Env, m Method, spec Spec, responses []Response) Result {
	t.Helper()
	spec.Size = len(responses)
	g := NewGroup(spec, m.Shared(), reward.DefaultReasoning, env)
	for i, r := range responses {
		if err := g.Add(i, r); err != nil {
			t.Fatal(err)
		}
	}
	res, _, err := Score(t.Context(), m, g, FailMean)
	if err != nil {
		t.Fatal(err)
	}
	return res
}
