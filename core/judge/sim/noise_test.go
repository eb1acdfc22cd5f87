package sim

import (
	"fmt"
	"math"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/query"
)

// perceivedOf is what a request's texts look like to a judge.
func perceivedOf(t *testing.T, s *Sim, req judge.Request) []float64 {
	t.Helper()
	q, err := s.understand(req.Messages, req.Seed)
	if err != nil {
		t.Fatal(err)
	}
	return s.perceived(q)
}

// calls are n requests that differ in their seed, over the given texts.
func calls(t *testing.T, n int, texts ...string) []judge.Request {
	out := make([]judge.Request, n)
	for i := range out {
		out[i] = request(t, prompt.Fine, prompt.Vars{Candidates: texts})
		seed := int64(i)
		out[i].Seed = &seed
	}
	return out
}

func stats(values []float64) (mean, std float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		std += (v - mean) * (v - mean) / float64(len(values)-1)
	}
	return mean, math.Sqrt(std)
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance {
		t.Errorf("%s: got %.3f, want %.3f within %.3f", what, got, want, tolerance)
	}
}

// Each term of the formula alone, over 1,500 calls with a fixed seed: standard
// errors are below 3% of a standard deviation, the tolerance is 10%.
func TestNoiseTerms(t *testing.T) {
	const n = 1500
	for _, c := range []struct {
		name        string
		config      Config
		texts       []string
		std         float64 // of each text over calls
		difference  float64 // std of the difference of two texts over calls
		first, mean float64 // expected mean of the first text and of the second, quality 5 both
	}{
		{"sigma", Config{Sigma: 2, Seed: 1}, []string{"v5", "same"}, 2, 2 * math.Sqrt2, 5, 5},
		{"drift", Config{Drift: 3, Seed: 1}, []string{"v5", "same"}, 3, 0, 5, 5},
		{"crowding", Config{Sigma: 2, Crowding: 0.5, Seed: 1}, []string{"v5", "same", "v1", "v9"}, 4, 4 * math.Sqrt2, 5, 5},
		{"crowding needs sigma", Config{Crowding: 0.5}, []string{"v5", "same", "v1", "v9"}, 0, 0, 5, 5},
		{"position bias", Config{PositionBias: 0.7}, []string{"v5", "same"}, 0, 0, 5.7, 5},
	} {
		s := newSim(t, c.config)
		var first, second, difference []float64
		for _, req := range calls(t, n, c.texts...) {
			seen := perceivedOf(t, s, req)
			first, second, difference = append(first, seen[0]), append(second, seen[1]), append(difference, seen[0]-seen[1])
		}
		m, std := stats(first)
		near(t, c.name+": mean of the first", m, c.first, 0.1*c.std+1e-9)
		near(t, c.name+": std of the first", std, c.std, 0.1*c.std+1e-9)
		m, std = stats(second)
		near(t, c.name+": mean of the second", m, c.mean, 0.1*c.std+1e-9)
		near(t, c.name+": std of the second", std, c.std, 0.1*c.std+1e-9)
		_, std = stats(difference)
		near(t, c.name+": std of the difference", std, c.difference, 0.1*c.difference+1e-9)
	}
}

func TestTasteStaysWithTheText(t *testing.T) {
	known := map[string]float64{}
	for i := range 4000 {
		known[fmt.Sprint("text ", i)] = 5
	}
	s := newSim(t, Config{Qualities: known, Taste: 2, Seed: 9})
	var errs []float64
	for text := range known {
		req := request(t, prompt.Score, prompt.Vars{Candidates: []string{text}})
		seen := perceivedOf(t, s, req)[0]
		seed := int64(8)
		req.Seed = &seed
		if again := perceivedOf(t, s, req)[0]; again != seen {
			t.Fatalf("%s: perceived as %v, then as %v", text, seen, again)
		}
		errs = append(errs, seen-5)
	}
	m, std := stats(errs)
	near(t, "mean", m, 0, 0.2)
	near(t, "std", std, 2, 0.2)
	if s.knows.mean != 5 {
		t.Errorf("the mean quality is that of the qualities given: got %v, want 5", s.knows.mean)
	}
}

func TestOneTextIsNotShownFirstOfSeveral(t *testing.T) {
	s := newSim(t, Config{PositionBias: 100})
	if got := perceivedOf(t, s, request(t, prompt.Score, prompt.Vars{Candidates: []string{"v5"}}))[0]; got != 5 {
		t.Errorf("got %v, want 5", got)
	}
	req := request(t, prompt.Coarse, prompt.Vars{Anchors: []string{"v1", "v7"}, Candidates: []string{"v9"}})
	if got := answerOf(t, s, req).Text; got != `{"position": 1}` { // the first anchor shown gains
		t.Errorf("got %s, want position 1", got)
	}
}

// A call is (rubrics, texts in shown order, request seed): each part of it
// changes the noise, and nothing else does.
func TestWhatACallIs(t *testing.T) {
	s := newSim(t, Config{Sigma: 1})
	base := prompt.Vars{Candidates: []string{"v5", "v3"}}
	want := perceivedOf(t, s, request(t, prompt.Pair, base))
	same := func(name string, req judge.Request, wantSame bool) {
		t.Helper()
		got := perceivedOf(t, s, req)
		if (got[0] == want[0] && got[1] == want[1]) != wantSame {
			t.Errorf("%s: got %v, first %v; same should be %v", name, got, want, wantSame)
		}
	}
	same("again", request(t, prompt.Pair, base), true)
	same("another kind", request(t, prompt.Match, base), true)
	other := base
	other.Query = query.Prompt{Text: "Another query"}
	same("another query", request(t, prompt.Pair, other), true)
	other = base
	other.Rubrics = []query.Rubric{{Text: rubric[0].Text, Weight: 2}}
	same("another weight", request(t, prompt.Pair, other), false)
	seeded := request(t, prompt.Pair, base)
	zero := int64(0)
	seeded.Seed = &zero
	same("a request seed", seeded, false)
	swapped := perceivedOf(t, s, request(t, prompt.Pair, prompt.Vars{Candidates: []string{"v3", "v5"}}))
	if swapped[0] == want[1] || swapped[1] == want[0] {
		t.Errorf("swapped: got %v, first %v: the order shown is part of a call", swapped, want)
	}
	s = newSim(t, Config{Sigma: 1, Seed: 1})
	same("another judge seed", request(t, prompt.Pair, base), false)
}

// The draws are fixed for good: a change would change every published figure.
func TestDrawsDoNotChange(t *testing.T) {
	d := source{42}
	for _, c := range []struct {
		got, want float64
	}{
		{d.normal("sigma", digestOf("call"), digestOf("text")), 1.3566152500910258},
		{d.normal("drift", digestOf("call")), -1.0002655248075309},
	} {
		if math.Abs(c.got-c.want) > 1e-12 {
			t.Errorf("got %.17g, want %.17g", c.got, c.want)
		}
	}
}

func TestNormalIsStandard(t *testing.T) {
	d, values := source{7}, []float64{}
	inside := 0
	for i := range 20000 {
		v := d.normal("test", digestOf(fmt.Sprint(i)))
		values = append(values, v)
		if math.Abs(v) < 1 {
			inside++
		}
	}
	m, std := stats(values)
	near(t, "mean", m, 0, 0.03)
	near(t, "std", std, 1, 0.03)
	near(t, "share within one std", float64(inside)/20000, 0.6827, 0.02)
}
