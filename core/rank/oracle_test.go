package rank

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/buffer"
	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/ledger"
	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/query"
	"github.com/rankbuffer/rankbuffer/core/reward"
)

// text is a response of known quality; name tells equal qualities apart.
func text(quality float64, name string) string { return fmt.Sprintf("answer %s q=%g", name, quality) }

func qualityOf(t string) float64 {
	q, err := strconv.ParseFloat(t[strings.LastIndex(t, "q=")+2:], 64)
	if err != nil {
		panic("no quality in " + t)
	}
	return q
}

// oracle judges without noise by the quality written in the texts. fail, if
// set, decides which requests get no answer.
type oracle struct {
	fail   func(d prompt.Document) error
	garble bool                                              // answers are no use to anyone
	say    func(req judge.Request, d prompt.Document) string // replaces an answer unless it is ""

	mu    sync.Mutex // guards asked
	asked []prompt.Document
}

func (o *oracle) Close() error { return nil }

func (o *oracle) Judge(ctx context.Context, req judge.Request) (judge.Reply, error) {
	if err := ctx.Err(); err != nil {
		return judge.Reply{}, &judge.Error{Failure: judge.FailureOf(err), Err: err}
	}
	d, err := prompt.Read(req.Messages)
	if err != nil {
		return judge.Reply{}, err
	}
	o.mu.Lock()
	o.asked = append(o.asked, d)
	o.mu.Unlock()
	if o.fail != nil {
		err = o.fail(d)
	}
	reply := judge.Reply{Text: o.answer(req, d), FinishReason: "stop", Usage: judge.Usage{Prompt: 10, Completion: 2}}
	if o.garble {
		reply.Text = "I could not say."
	}
	book(req, reply.Usage, err)
	if err != nil {
		return judge.Reply{}, &judge.Error{Failure: judge.FailureOf(err), Err: err}
	}
	if req.TopLogProbs > 0 {
		if reply.Tokens = labelTokens(d); o.garble {
			reply.Tokens = []judge.TokenProb{{Token: "I"}, {Token: " could"}}
		}
	}
	return reply, nil
}

func (o *oracle) calls(kind prompt.Kind) int {
	n := 0
	for _, d := range o.asked {
		if d.Kind == kind {
			n++
		}
	}
	return n
}

func (o *oracle) answer(req judge.Request, d prompt.Document) string {
	if o.say != nil {
		if said := o.say(req, d); said != "" {
			return said
		}
	}
	return answer(d)
}

func answer(d prompt.Document) string {
	quality := func(i int) float64 { return qualityOf(d.Candidates[i].Body) }
	order := make([]int, len(d.Candidates))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(sign(quality(a) - quality(b))) })
	switch d.Kind {
	case prompt.Coarse:
		p := 0
		for _, a := range d.Anchors {
			if qualityOf(a.Body) < quality(0) {
				p++
			}
		}
		return fmt.Sprintf(`{"position": %d}`, p)
	case prompt.CoarseOrder:
		return `{"position": 1}`
	case prompt.Fine:
		return fmt.Sprintf(`{"order": %s}`, mustJSON(order))
	case prompt.Score, prompt.RubricScore:
		return fmt.Sprintf(`{"score": %d}`, int(min(10, max(0, quality(0)))))
	case prompt.Pair, prompt.Reasoned:
		return fmt.Sprintf(`{"winner": %q}`, winner(d))
	case prompt.Preference:
		return winner(d)
	case prompt.Label:
		return map[bool]string{true: "Yes", false: "No"}[quality(0) > 5]
	case prompt.Match:
		a, b := 0, 1
		if winner(d) == "A" {
			a, b = 1, 0
		}
		return fmt.Sprintf(`{"score_a": %d, "score_b": %d}`, a, b)
	case prompt.Select:
		return fmt.Sprintf(`{"winners": %s}`, mustJSON(order[len(order)-d.Winners:]))
	case prompt.Manager:
		return manage(d)
	}
	panic("oracle: no answer for " + string(d.Kind))
}

func manage(d prompt.Document) string {
	keep, add := []int{}, []int{}
	for _, i := range buffer.Select(len(d.Order), d.Keep) {
		n, _ := strconv.Atoi(d.Order[i][1:])
		if d.Order[i][0] == 'A' {
			keep = append(keep, n)
		} else {
			add = append(add, n)
		}
	}
	return fmt.Sprintf(`{"keep_anchor_ids": %s, "add_rollout_ids": %s}`, mustJSON(keep), mustJSON(add))
}

func winner(d prompt.Document) string {
	if qualityOf(d.Candidates[0].Body) >= qualityOf(d.Candidates[1].Body) {
		return "A"
	}
	return "B"
}

// labelTokens gives the label 0.9 of the probability. A verdict in JSON is three
// tokens, the label in the middle.
func labelTokens(d prompt.Document) []judge.TokenProb {
	label, other := answer(d), map[string]string{"A": "B", "B": "A", "Yes": "No", "No": "Yes"}
	var before, after []judge.TokenProb
	if d.Kind == prompt.Reasoned {
		label = winner(d)
		before, after = []judge.TokenProb{{Token: `{"winner": "`}}, []judge.TokenProb{{Token: `"}`}}
	}
	chosen := judge.TokenProb{Token: label, LogProb: math.Log(0.9), Top: []judge.Alternative{
		{Token: label, LogProb: math.Log(0.9)}, {Token: other[label], LogProb: math.Log(0.1)},
	}}
	return slices.Concat(before, []judge.TokenProb{chosen}, after)
}

func sign(x float64) float64 {
	switch {
	case x < 0:
		return -1
	case x > 0:
		return 1
	}
	return 0
}

func mustJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// testQuery has seven ranked responses of quality 7 (best) to 1.
func testQuery() query.Query {
	q := query.Query{ID: "q", Prompt: query.Prompt{Text: "What makes a good bridge?"}}
	for i := range 7 {
		q.Ranked = append(q.Ranked, text(float64(7-i), "ranked"))
	}
	return q
}

// method makes a registered method from options.
func method(t testing.TB, options string) Method {
	t.Helper()
	m, err := New([]byte(options))
	if err != nil {
		t.Fatalf("New(%s): %v", options, err)
	}
	return m
}

// score runs a whole group. order gives the arrival order, nil the given one.
func score(t testing.TB, m Method, o judge.Judge, spec Spec, responses []Response, order []int) (Result, *buffer.Buffer) {
	t.Helper()
	spec.Size = len(responses)
	if spec.Query.ID == "" {
		spec.Query = testQuery()
	}
	if s, ok := m.(Starter); ok && spec.Buffer == nil {
		b, err := s.Start(spec.Query)
		if err != nil {
			t.Fatal(err)
		}
		spec.Buffer = b
	}
	if err := m.Check(spec); err != nil {
		t.Fatalf("Check: %v", err)
	}
	g := NewGroup(spec, m.Shared(), reward.DefaultReasoning, Env{Judge: o, Templates: prompt.Default()})
	if order == nil {
		for i := range responses {
			order = append(order, i)
		}
	}
	arrived := make(chan error, 1)
	go func() {
		var err error
		for _, i := range order {
			err = errors.Join(err, g.Add(i, responses[i]))
		}
		arrived <- err
	}()
	res, next, err := Score(t.Context(), m, g, FailMean)
	if err := errors.Join(err, <-arrived); err != nil {
		t.Fatal(err)
	}
	return res, next
}

func responsesOf(texts ...string) []Response {
	out := make([]Response, len(texts))
	for i, t := range texts {
		out[i] = Response{Text: t}
	}
	return out
}

// randomResponses are n distinct ones in shuffled order of quality.
func randomResponses(r *rand.Rand, n int) []Response {
	out := make([]Response, n)
	for i := range out {
		out[i] = Response{Text: text(float64(i)/2+0.25, fmt.Sprint(i))}
	}
	r.Shuffle(n, func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// book keeps the group's account, as a stack of judge wrappers would.
func book(req judge.Request, used judge.Usage, err error) {
	end := ledger.Succeeded
	if err != nil {
		end = ledger.Failed
	}
	req.Ledger.Book(ledger.Attempt{Kind: req.Kind, Usage: used, Answered: err == nil}, end)
}
