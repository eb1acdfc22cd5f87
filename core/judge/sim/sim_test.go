package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/verdict"
	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/query"
)

// Six texts whose quality is in their name; mean 5, as "v5" is 5.
var qualities = map[string]float64{"v1": 1, "v3": 3, "v5": 5, "v7": 7, "v9": 9, "same": 5}

var rubric = []query.Rubric{{Text: "Larger is better.", Weight: 1}}

func newSim(t testing.TB, c Config) *Sim {
	t.Helper()
	if c.Qualities == nil {
		c.Qualities = qualities
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func request(t testing.TB, kind prompt.Kind, v prompt.Vars) judge.Request {
	t.Helper()
	if v.Query.Empty() {
		v.Query = query.Prompt{Text: "Which number?"}
	}
	if v.Rubrics == nil {
		v.Rubrics = rubric
	}
	messages, err := new(prompt.Templates).Render(kind, v)
	if err != nil {
		t.Fatal(err)
	}
	return judge.Request{Kind: kind, Messages: messages}
}

func answerOf(t testing.TB, s judge.Judge, req judge.Request) judge.Reply {
	t.Helper()
	reply, err := s.Judge(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

// everyKind holds requests of every kind, and answers without noise.
var everyKind = []struct {
	name string
	kind prompt.Kind
	vars prompt.Vars
	want string
}{
	{"below all", prompt.Coarse, prompt.Vars{Anchors: []string{"v3", "v7"}, Candidates: []string{"v1"}}, `{"position": 0}`},
	{"between", prompt.Coarse, prompt.Vars{Anchors: []string{"v3", "v7"}, Candidates: []string{"v5"}}, `{"position": 1}`},
	{"above all", prompt.Coarse, prompt.Vars{Anchors: []string{"v3", "v7"}, Candidates: []string{"v9"}}, `{"position": 2}`},
	{"an anchor itself", prompt.Coarse, prompt.Vars{Anchors: []string{"v3", "v7"}, Candidates: []string{"v7"}}, `{"position": 1}`},
	{"anchors out of order", prompt.Coarse, prompt.Vars{Anchors: []string{"v9", "v1", "v7"}, Candidates: []string{"v5"}}, `{"position": 1}`},
	{"order", prompt.Fine, prompt.Vars{Candidates: []string{"v5", "v9", "v1"}}, `{"order": [2,0,1]}`},
	{"order with a tie", prompt.Fine, prompt.Vars{Candidates: []string{"same", "v9", "v5", "v1"}}, `{"order": [3,0,2,1]}`},
	{"manager", prompt.Manager, prompt.Vars{Anchors: []string{"v1", "v5", "v9"}, Candidates: []string{"v3", "v7"},
		Order: []string{"A0", "R0", "A1", "R1", "A2"}, Keep: 4}, `{"keep_anchor_ids": ["A0","A2"], "add_rollout_ids": ["R0","R1"]}`},
	{"manager, unknown look-ahead", prompt.Manager, prompt.Vars{Anchors: []string{"v1", "v9"}, Candidates: []string{"v3"}, Lookahead: []string{"?"},
		Order: []string{"A0", "R0", "A1"}, Keep: 2}, `{"keep_anchor_ids": ["A0","A1"], "add_rollout_ids": []}`},
	{"score of the mean", prompt.Score, prompt.Vars{Candidates: []string{"v5"}}, `{"score": 5}`},
	{"score above", prompt.Score, prompt.Vars{Candidates: []string{"v9"}}, `{"score": 7}`}, // 10/(1+1/e) = 7.31
	{"score of a rubric", prompt.RubricScore, prompt.Vars{Candidates: []string{"v1"}}, `{"score": 3}`},
	{"pair, second", prompt.Pair, prompt.Vars{Candidates: []string{"v3", "v5"}}, `{"winner": "B"}`},
	{"pair, equal", prompt.Pair, prompt.Vars{Candidates: []string{"same", "v5"}}, `{"winner": "A"}`},
	{"match, first", prompt.Match, prompt.Vars{Candidates: []string{"v7", "v5"}}, `{"score_a": 1, "score_b": 0}`},
	{"match, second", prompt.Match, prompt.Vars{Candidates: []string{"v5", "v7"}}, `{"score_a": 0, "score_b": 1}`},
	{"match, equal", prompt.Match, prompt.Vars{Candidates: []string{"same", "v5"}}, `{"score_a": 1, "score_b": 0}`},
	{"select", prompt.Select, prompt.Vars{Candidates: []string{"v1", "v7", "v3", "v9"}, Winners: 2}, `{"winners": [3,1]}`},
	{"preference", prompt.Preference, prompt.Vars{Candidates: []string{"v3", "v5"}}, `B`},
	{"preference, equal", prompt.Preference, prompt.Vars{Candidates: []string{"same", "v5"}}, `A`},
	{"reasoned", prompt.Reasoned, prompt.Vars{Candidates: []string{"v3", "v5"}}, reasoning + `{"winner": "B"}`},
	{"label, good", prompt.Label, prompt.Vars{Candidates: []string{"v7"}}, `Yes`},
	{"label, bad", prompt.Label, prompt.Vars{Candidates: []string{"v3"}}, `No`},
	{"rubrics", prompt.Rubrics, prompt.Vars{Ranked: []string{"anything", "at all"}}, rubrics},
}

func TestExactWithoutNoise(t *testing.T) {
	s, covered := newSim(t, Config{}), map[prompt.Kind]bool{prompt.CoarseOrder: true} // a hash, below
	for _, c := range everyKind {
		covered[c.kind] = true
		if got := answerOf(t, s, request(t, c.kind, c.vars)); got.Text != c.want || got.FinishReason != "stop" {
			t.Errorf("%s, %s: got %q (%s), want %q", c.kind, c.name, got.Text, got.FinishReason, c.want)
		}
	}
	for _, kind := range prompt.Kinds() {
		if !covered[kind] {
			t.Errorf("no case for %s", kind)
		}
	}
}

func TestOrderOnlyIsAHashOverAllPositions(t *testing.T) {
	s := newSim(t, Config{})
	seen := map[string]int{}
	for i := range 300 {
		v := prompt.Vars{Anchors: []string{"a", "b"}, Candidates: []string{fmt.Sprint("text ", i)}}
		req := request(t, prompt.CoarseOrder, v)
		first := answerOf(t, s, req).Text
		if again := answerOf(t, newSim(t, Config{Sigma: 3}), req).Text; again != first {
			t.Fatalf("answered %s, then %s", first, again)
		}
		seen[first]++
	}
	if len(seen) != 3 {
		t.Fatalf("got %v, want positions 0 to 2", seen)
	}
	for answer, n := range seen { // 100 expected, standard deviation 8
		if n < 60 || n > 140 {
			t.Errorf("%s came %d times of 300", answer, n)
		}
	}
}

func TestScoreFollowsItsFormula(t *testing.T) {
	known := map[string]float64{}
	for q := -30; q <= 30; q++ {
		known[fmt.Sprint("q", q)] = float64(q)
	}
	s := newSim(t, Config{Qualities: known}) // mean 0
	for text, q := range known {
		reply := answerOf(t, s, request(t, prompt.Score, prompt.Vars{Candidates: []string{text}}))
		got, err := verdict.Score(reply.Text)
		if want := math.Round(10 / (1 + math.Exp(-q/4))); err != nil || got != want {
			t.Errorf("quality %v: got %v, %v; want %v", q, got, err, want)
		}
	}
}

func TestProbabilitiesAreLogistic(t *testing.T) {
	s := newSim(t, Config{})
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	for _, c := range []struct {
		name  string
		kind  prompt.Kind
		texts []string
		parse func(judge.Reply) (float64, error)
		want  float64
	}{
		{"preference of the better", prompt.Preference, []string{"v7", "v3"}, verdict.Preference, sigmoid(4)},
		{"preference of the worse", prompt.Preference, []string{"v3", "v5"}, verdict.Preference, sigmoid(-2)},
		{"preference of equals", prompt.Preference, []string{"v5", "same"}, verdict.Preference, 0.5},
		{"reasoned", prompt.Reasoned, []string{"v3", "v5"}, verdict.Reasoned, sigmoid(-2)},
		{"pair", prompt.Pair, []string{"v5", "v3"}, verdict.Reasoned, sigmoid(2)},
		{"label of a good one", prompt.Label, []string{"v9"}, verdict.Label, sigmoid(4)},
		{"label of a bad one", prompt.Label, []string{"v1"}, verdict.Label, sigmoid(-4)},
	} {
		req := request(t, c.kind, prompt.Vars{Candidates: c.texts})
		if reply := answerOf(t, s, req); len(reply.Tokens) > 0 {
			t.Errorf("%s: tokens came unasked: %v", c.name, reply.Tokens)
		}
		req.TopLogProbs = 2
		reply := answerOf(t, s, req)
		if got, err := c.parse(reply); err != nil || math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: got %v, %v; want %v", c.name, got, err, c.want)
		}
		var text strings.Builder
		for _, token := range reply.Tokens {
			text.WriteString(token.Token)
		}
		if text.String() != reply.Text {
			t.Errorf("%s: tokens spell %q, text is %q", c.name, text.String(), reply.Text)
		}
		req.TopLogProbs = 1
		for _, token := range answerOf(t, s, req).Tokens {
			if len(token.Top) != 1 || token.Top[0].Token != token.Token {
				t.Errorf("%s: one alternative asked, got %+v", c.name, token)
			}
		}
	}
}

func TestLogProbabilitiesAreFinite(t *testing.T) {
	for _, x := range []float64{0, 1, -1, 745, -745, 1e6, -1e6, 1e200, -1e200} {
		if got := logLogistic(x); math.IsInf(got, 0) || math.IsNaN(got) || got > 0 {
			t.Errorf("log logistic(%v) = %v", x, got)
		}
	}
}

func TestTokensAreBytesOverFour(t *testing.T) {
	s := newSim(t, Config{})
	req := request(t, prompt.Pair, prompt.Vars{Candidates: []string{"v3", "v5"}})
	for range 5 { // through all remainders
		req.Messages[1].Content += "."
		n := len(req.Messages[0].Content) + len(req.Messages[1].Content)
		got := answerOf(t, s, req).Usage
		want := judge.Usage{Prompt: int(math.Ceil(float64(n) / 4)), Completion: 4} // {"winner": "B"} has 15 bytes
		if got != want {
			t.Errorf("%d bytes: got %+v, want %+v", n, got, want)
		}
	}
}

func TestReasoningIsKnownByItsAnswer(t *testing.T) {
	s := newSim(t, Config{Qualities: map[string]float64{
		"<think>hm</think>\n\nyes": 4, "<think>well</think>yes": 6, // look the same: 5
		"no": 1, "<think>a</think>no": 9, // given as it stands: 1
		"four": 4, "six": 6, "one": 1,
	}})
	for _, c := range []struct{ text, other, want string }{
		{"yes", "four", "A"}, {"yes", "six", "B"}, {"<think>hm</think>\n\nyes", "four", "A"}, {"<think>hm</think>\n\nyes", "yes", "B"},
		{"no", "four", "B"}, {"<think>a</think>no", "six", "A"},
	} {
		got := answerOf(t, s, request(t, prompt.Pair, prompt.Vars{Candidates: []string{c.text, c.other}})).Text
		if want := fmt.Sprintf(`{"winner": %q}`, c.want); got != want {
			t.Errorf("%q against %q: got %s, want %s", c.text, c.other, got, want)
		}
	}
}

func TestUnknownText(t *testing.T) {
	s := newSim(t, Config{})
	secret := "a text nobody rated"
	for _, c := range []struct {
		kind prompt.Kind
		vars prompt.Vars
		id   string
	}{
		{prompt.Coarse, prompt.Vars{Anchors: []string{"v1", secret}, Candidates: []string{"v3"}}, "A1"},
		{prompt.Coarse, prompt.Vars{Anchors: []string{"v1", "v5"}, Candidates: []string{secret}}, "CANDIDATE"},
		{prompt.Fine, prompt.Vars{Candidates: []string{"v1", "v3", secret}}, "R2"},
		{prompt.Pair, prompt.Vars{Candidates: []string{"v1", secret}}, "B"},
	} {
		_, err := s.Judge(t.Context(), request(t, c.kind, c.vars))
		var failure *judge.Error
		if !errors.As(err, &failure) || !errors.Is(err, fault.JudgeRejected) || !strings.Contains(err.Error(), "no quality is known") {
			t.Fatalf("%s: got %v, want an unknown text", c.kind, err)
		}
		if failure.Retryable || failure.StatusCode != 400 || failure.Failure != judge.Failed {
			t.Errorf("%s: got %+v, want a final 400", c.kind, failure)
		}
		if text := err.Error(); !strings.Contains(text, "shown as "+c.id+" ") || strings.Contains(text, secret) {
			t.Errorf("%s: error %q should name %s and keep the text to itself", c.kind, text, c.id)
		}
	}
}

func TestForeignMessages(t *testing.T) {
	_, err := newSim(t, Config{}).Judge(t.Context(), judge.Request{Messages: []prompt.Message{{Role: "user", Content: "Hello?"}}})
	var failure *judge.Error
	if !errors.As(err, &failure) || failure.StatusCode != 400 || failure.Retryable || !errors.Is(err, prompt.ErrNotRendered) {
		t.Errorf("got %v, want a final 400 for messages that are no request", err)
	}
}

func TestLatencyHonoursContext(t *testing.T) {
	s := newSim(t, Config{LatencyMS: maxLatencyMS})
	req := request(t, prompt.Pair, prompt.Vars{Candidates: []string{"v3", "v5"}})
	cancelled, cancel := context.WithCancel(t.Context())
	go cancel()
	_, err := s.Judge(cancelled, req)
	if got := judge.FailureOf(err); got != judge.Cancelled || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v (%s)", err, got)
	}
	late, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	_, err = s.Judge(late, req)
	if got := judge.FailureOf(err); got != judge.TimedOut || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("late: got %v (%s)", err, got)
	}
}

func TestConfigErrorsNameTheField(t *testing.T) {
	for text, want := range map[string]string{
		`{"sgima": 1}`:                "sgima: unknown field",
		`{"sigma": -1}`:               "sigma: need a number from 0 to 1e+100, got -1",
		`{"drift": -0.5}`:             "drift",
		`{"taste": 1e101}`:            "taste",
		`{"crowding": -1}`:            "crowding",
		`{"position_bias": 1e101}`:    "position_bias",
		`{"latency_ms": 86400001}`:    "latency_ms",
		`{"failure_rate": 1.5}`:       "failure_rate: need a number from 0 to 1, got 1.5",
		`{"malformed_rate": -0.1}`:    "malformed_rate",
		`{"seed": 1.5}`:               "seed",
		`{"qualities": {"a": "b"}}`:   "qualities",
		`{"qualities": {"a": 1e101}}`: "qualities",
		`{"sigma": 1} {"sigma": 2}`:   "after top-level value",
		``:                            "not valid JSON",
	} {
		if _, err := ParseConfig([]byte(text)); fault.From(err).Code.Status() != fault.StatusInvalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an invalid value that says %q", text, err, want)
		}
	}
	for name, c := range map[string]Config{
		"sigma": {Sigma: math.NaN()}, "position_bias": {PositionBias: math.Inf(-1)}, "qualities": {Qualities: map[string]float64{"a": math.NaN()}},
	} {
		if _, err := New(c); fault.From(err).Code.Status() != fault.StatusInvalid || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestQualitiesByQuery(t *testing.T) {
	const no = "I cannot help with that."
	c, err := ParseConfig([]byte(`{"qualities": {"` + no + `": 5, "fair": 3,
		"bomb?": {"` + no + `": 9, "<think>so</think>boom": 1},
		"system: Help.\n\nuser: Hi": {"` + no + `": 1}}}`))
	if err != nil {
		t.Fatal(err)
	}
	s := newSim(t, c)
	if want := (5 + 3 + 9 + 1 + 1) / 5.0; s.knows.mean != want {
		t.Errorf("mean %v, want %v, over all queries", s.knows.mean, want)
	}
	chat := query.Prompt{Messages: []query.Message{{Role: "system", Content: "Help."}, {Role: "user", Content: "Hi"}}}
	for _, tc := range []struct {
		query query.Prompt
		texts []string
		want  []float64
	}{
		{query.Prompt{Text: "bomb?"}, []string{no, "boom"}, []float64{9, 1}},
		{query.Prompt{Text: "bomb?"}, []string{no, "fair"}, []float64{9, 3}},
		{chat, []string{"fair", no}, []float64{3, 1}},
		{query.Prompt{Text: "another"}, []string{no, "fair"}, []float64{5, 3}},
	} {
		req := request(t, prompt.Pair, prompt.Vars{Query: tc.query, Candidates: tc.texts})
		if got := perceivedOf(t, s, req); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%v %v: perceived %v, want %v", tc.query, tc.texts, got, tc.want)
		}
	}
	_, err = s.Judge(t.Context(), request(t, prompt.Pair, prompt.Vars{Query: query.Prompt{Text: "another"}, Candidates: []string{no, "boom"}}))
	if err == nil || !strings.Contains(err.Error(), "shown as B ") {
		t.Errorf("a text known under another query only: %v", err)
	}
}
