// Package ranktest tests reward methods: judges without noise that answer by the
// quality written in the texts, and a group run from end to end.
package ranktest

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
	"github.com/rankbuffer/rankbuffer/core/rank"
	"github.com/rankbuffer/rankbuffer/core/reward"
)

// Text is a response of known quality; name tells equal qualities apart.
func Text(quality float64, name string) string { return fmt.Sprintf("answer %s q=%g", name, quality) }

// QualityOf reads the quality of a Text.
func QualityOf(t string) float64 {
	q, err := strconv.ParseFloat(t[strings.LastIndex(t, "q=")+2:], 64)
	if err != nil {
		panic("no quality in " + t)
	}
	return q
}

// Oracle judges without noise by the quality written in the texts. Fail, if
// set, decides which requests get no answer.
type Oracle struct {
	Fail   func(d prompt.Document) error
	Garble bool                                              // answers are no use to anyone
	Say    func(req judge.Request, d prompt.Document) string // replaces an answer unless it is ""

	mu    sync.Mutex // guards Asked
	Asked []prompt.Document
}

// Close implements judge.Judge.
func (o *Oracle) Close() error { return nil }

// Judge implements judge.Judge.
func (o *Oracle) Judge(ctx context.Context, req judge.Request) (judge.Reply, error) {
	if err := ctx.Err(); err != nil {
		return judge.Reply{}, &judge.Error{Failure: judge.FailureOf(err), Err: err}
	}
	d, err := prompt.Read(req.Messages)
	if err != nil {
		return judge.Reply{}, err
	}
	o.mu.Lock()
	o.Asked = append(o.Asked, d)
	o.mu.Unlock()
	if o.Fail != nil {
		err = o.Fail(d)
	}
	reply := judge.Reply{Text: o.answer(req, d), FinishReason: "stop", Usage: judge.Usage{Prompt: 10, Completion: 2}}
	if o.Garble {
		reply.Text = "I could not say."
	}
	book(req, reply.Usage, err)
	if err != nil {
		return judge.Reply{}, &judge.Error{Failure: judge.FailureOf(err), Err: err}
	}
	if req.TopLogProbs > 0 {
		if reply.Tokens = labelTokens(d); o.Garble {
			reply.Tokens = []judge.TokenProb{{Token: "I"}, {Token: " could"}}
		}
	}
	return reply, nil
}

// Calls counts the requests of one kind.
func (o *Oracle) Calls(kind prompt.Kind) int {
	n := 0
	for _, d := range o.Asked {
		if d.Kind == kind {
			n++
		}
	}
	return n
}

func (o *Oracle) answer(req judge.Request, d prompt.Document) string {
	if o.Say != nil {
		if said := o.Say(req, d); said != "" {
			return said
		}
	}
	return answer(d)
}

func answer(d prompt.Document) string {
	quality := func(i int) float64 { return QualityOf(d.Candidates[i].Body) }
	order := make([]int, len(d.Candidates))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(sign(quality(a) - quality(b))) })
	switch d.Kind {
	case prompt.Coarse:
		p := 0
		for _, a := range d.Anchors {
			if QualityOf(a.Body) < quality(0) {
				p++
			}
		}
		return fmt.Sprintf(`{"position": %d}`, p)
	case prompt.CoarseOrder:
		return `{"position": 1}`
	case prompt.Fine:
		return fmt.Sprintf(`{"order": %s}`, JSON(order))
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
		return fmt.Sprintf(`{"winners": %s}`, JSON(order[len(order)-d.Winners:]))
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
	return fmt.Sprintf(`{"keep_anchor_ids": %s, "add_rollout_ids": %s}`, JSON(keep), JSON(add))
}

func winner(d prompt.Document) string {
	if QualityOf(d.Candidates[0].Body) >= QualityOf(d.Candidates[1].Body) {
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

// JSON is the value as JSON.
func JSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// Query has seven ranked responses of quality 7 (best) to 1.
func Query() query.Query {
	q := query.Query{ID: "q", Prompt: query.Prompt{Text: "What makes a good bridge?"}}
	for i := range 7 {
		q.Ranked = append(q.Ranked, Text(float64(7-i), "ranked"))
	}
	return q
}

// Score runs a whole group. order gives the arrival order, nil the given one.
func Score(t testing.TB, m rank.Method, o judge.Judge, spec rank.Spec, responses []rank.Response, order []int) (rank.Result, *buffer.Buffer) {
	t.Helper()
	spec.Size = len(responses)
	if spec.Query.ID == "" {
		spec.Query = Query()
	}
	if s, ok := m.(rank.Starter); ok && spec.Buffer == nil {
		b, err := s.Start(spec.Query)
		if err != nil {
			t.Fatal(err)
		}
		spec.Buffer = b
	}
	if err := m.Check(spec); err != nil {
		t.Fatalf("Check: %v", err)
	}
	g := rank.NewGroup(spec, m.Shared(), reward.DefaultReasoning, rank.Env{Judge: o})
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
	res, next, err := rank.Score(t.Context(), m, g, rank.FailMean)
	if err := errors.Join(err, <-arrived); err != nil {
		t.Fatal(err)
	}
	return res, next
}

// Responses are those of the given texts.
func Responses(texts ...string) []rank.Response {
	out := make([]rank.Response, len(texts))
	for i, t := range texts {
		out[i] = rank.Response{Text: t}
	}
	return out
}

// RandomResponses are n distinct ones in shuffled order of quality.
func RandomResponses(r *rand.Rand, n int) []rank.Response {
	out := make([]rank.Response, n)
	for i := range out {
		out[i] = rank.Response{Text: Text(float64(i)/2+0.25, fmt.Sprint(i))}
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
