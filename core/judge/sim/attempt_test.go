package sim

import (
	"errors"
	"fmt"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/verdict"
	"github.com/rankbuffer/rankbuffer/core/prompt"
)

// outcomes plays n attempts at each of m requests: f failed, m malformed, . fine.
func outcomes(t *testing.T, s *Sim, requests, attempts int) []string {
	t.Helper()
	var out []string
	for i := range requests {
		seed := int64(i)
		req := request(t, prompt.Pair, prompt.Vars{Candidates: []string{"v3", "v5"}})
		req.Seed = &seed
		line := ""
		for range attempts {
			reply, err := s.Judge(t.Context(), req)
			var failure *judge.Error
			switch {
			case errors.As(err, &failure):
				if !failure.Retryable || failure.StatusCode != 500 || failure.Failure != judge.Failed {
					t.Fatalf("got %+v, want a retryable 500", failure)
				}
				line += "f"
			case reply.Text == `{"winner": "B"}`:
				line += "."
			default:
				line += "m"
			}
		}
		out = append(out, line)
	}
	return out
}

func TestFailuresAndMalformedAnswersAreDrawnPerAttempt(t *testing.T) {
	c := Config{FailureRate: 0.3, MalformedRate: 0.2, Seed: 3}
	got := outcomes(t, newSim(t, c), 500, 4)
	if again := outcomes(t, newSim(t, c), 500, 4); fmt.Sprint(again) != fmt.Sprint(got) {
		t.Error("two runs differ")
	}
	count, recovered, lost := map[rune]int{}, 0, 0
	for _, line := range got {
		for _, o := range line {
			count[o]++
		}
		if line[0] == 'f' && line[1] == '.' {
			recovered++
		}
		if line[0] == '.' && line[1] == 'f' {
			lost++
		}
	}
	near(t, "share failed", float64(count['f'])/2000, 0.3, 0.04)
	near(t, "share malformed", float64(count['m'])/2000, 0.7*0.2, 0.03)
	if recovered == 0 || lost == 0 {
		t.Errorf("another attempt never differs: %d recovered, %d lost", recovered, lost)
	}
}

func TestRatesAtTheirEnds(t *testing.T) {
	for _, c := range []struct {
		config Config
		want   string
	}{{Config{}, "..."}, {Config{FailureRate: 1}, "fff"}, {Config{MalformedRate: 1}, "mmm"}} {
		for _, line := range outcomes(t, newSim(t, c.config), 30, 3) {
			if line != c.want {
				t.Fatalf("%+v: got %s, want %s", c.config, line, c.want)
			}
		}
	}
}

// A corrective re-ask is another attempt at the same request.
func TestReaskIsAnotherAttempt(t *testing.T) {
	c := Config{FailureRate: 0.5, Seed: 1}
	want := outcomes(t, newSim(t, c), 60, 2)
	s := newSim(t, c)
	for i, line := range want {
		seed := int64(i)
		req := request(t, prompt.Pair, prompt.Vars{Candidates: []string{"v3", "v5"}})
		req.Seed = &seed
		_, first := s.Judge(t.Context(), req)
		req.Messages = append(req.Messages, prompt.Message{Role: "assistant", Content: "?"}, prompt.Message{Role: "user", Content: "Again."})
		_, second := s.Judge(t.Context(), req)
		if (first != nil) != (line[0] == 'f') || (second != nil) != (line[1] == 'f') {
			t.Fatalf("request %d: got failures %v, %v; want %s", i, first, second, line)
		}
	}
}

// No parser accepts a malformed answer, of whatever kind, in any of its forms.
func TestMalformedAnswersAreRefused(t *testing.T) {
	parsers := map[prompt.Kind]func(judge.Reply, prompt.Vars) error{
		prompt.Coarse: func(r judge.Reply, v prompt.Vars) error {
			_, err := verdict.Position(r.Text, len(v.Anchors))
			return err
		},
		prompt.CoarseOrder: func(r judge.Reply, v prompt.Vars) error {
			_, err := verdict.Position(r.Text, len(v.Anchors))
			return err
		},
		prompt.Fine: func(r judge.Reply, v prompt.Vars) error {
			_, err := verdict.Order(r.Text, len(v.Candidates))
			return err
		},
		prompt.Manager: func(r judge.Reply, v prompt.Vars) error {
			_, _, err := verdict.Manager(r.Text, v.Keep, len(v.Anchors), len(v.Candidates))
			return err
		},
		prompt.Score:       func(r judge.Reply, _ prompt.Vars) error { _, err := verdict.Score(r.Text); return err },
		prompt.RubricScore: func(r judge.Reply, _ prompt.Vars) error { _, err := verdict.Score(r.Text); return err },
		prompt.Pair:        func(r judge.Reply, _ prompt.Vars) error { _, err := verdict.Winner(r.Text); return err },
		prompt.Match:       func(r judge.Reply, _ prompt.Vars) error { _, _, err := verdict.Match(r.Text); return err },
		prompt.Select: func(r judge.Reply, v prompt.Vars) error {
			_, err := verdict.Winners(r.Text, len(v.Candidates), v.Winners)
			return err
		},
		prompt.Preference: func(r judge.Reply, _ prompt.Vars) error { _, err := verdict.Preference(r); return err },
		prompt.Reasoned:   func(r judge.Reply, _ prompt.Vars) error { _, err := verdict.Reasoned(r); return err },
		prompt.Label:      func(r judge.Reply, _ prompt.Vars) error { _, err := verdict.Label(r); return err },
		prompt.Rubrics:    func(r judge.Reply, _ prompt.Vars) error { _, err := verdict.Rubrics(r.Text); return err },
	}
	cases := append(everyKind[:len(everyKind):len(everyKind)], everyKind[0])
	cases[len(cases)-1].kind = prompt.CoarseOrder
	bad, good := newSim(t, Config{MalformedRate: 1}), newSim(t, Config{})
	for _, c := range cases {
		forms := map[string]bool{}
		for i := range 40 {
			seed := int64(i)
			req := request(t, c.kind, c.vars)
			req.Seed, req.TopLogProbs = &seed, 5
			reply := answerOf(t, bad, req)
			forms[reply.Text] = true
			if err := parsers[c.kind](reply, c.vars); err == nil || errors.Is(err, fault.JudgeNoLogProbs) {
				t.Errorf("%s: %q: got error %v", c.kind, reply.Text, err)
			}
			if err := parsers[c.kind](answerOf(t, good, req), c.vars); err != nil {
				t.Errorf("%s: a good answer is refused: %v", c.kind, err)
			}
		}
		if len(forms) < 4 {
			t.Errorf("%s: only %d forms: %v", c.kind, len(forms), forms)
		}
	}
}
