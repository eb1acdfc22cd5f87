package reward

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestLinear(t *testing.T) {
	for _, tt := range []struct {
		q    float64
		n    int
		want float64
	}{{0, 8, -1}, {7, 8, 1}, {3.5, 8, 0}, {0, 2, -1}, {1, 2, 1}, {0, 1, 0}, {0, 0, 0}} {
		if got := Linear(tt.q, tt.n); got != tt.want {
			t.Errorf("Linear(%v, %d) = %v, want %v", tt.q, tt.n, got, tt.want)
		}
	}
}

func TestAdvantages(t *testing.T) {
	got := Advantages([]float64{-1, 0, 1}, true)
	std := 1.0 // with ddof 1
	scale := 1 / (std + Epsilon)
	want := []float64{-scale, 0, scale}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := Advantages([]float64{2, 4}, false); !slices.Equal(got, []float64{-1, 1}) {
		t.Errorf("Dr. GRPO: got %v, want centred only", got)
	}
	for _, flat := range [][]float64{{}, {3}, {0.1, 0.1, 0.1}} {
		if got := Advantages(flat, true); !slices.Equal(got, make([]float64, len(flat))) {
			t.Errorf("Advantages(%v) = %v, want zeros", flat, got)
		}
	}
}

func TestAdvantagesProperties(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		rewards := make([]float64, 2+r.IntN(20))
		for i := range rewards {
			rewards[i] = r.NormFloat64() * math.Pow(10, float64(r.IntN(8)-4))
		}
		adv := Advantages(rewards, true)
		if m := Mean(adv); math.Abs(m) > 1e-9 {
			t.Errorf("seed %d: advantages average %v", seed, m)
		}
		if s, want := Std(adv), Std(rewards)/(Std(rewards)+Epsilon); math.Abs(s-want) > 1e-9 {
			t.Errorf("seed %d: std %v, want %v", seed, s, want)
		}
	}
}

func TestRanks(t *testing.T) {
	for _, tt := range []struct{ values, want []float64 }{
		{nil, []float64{}},
		{[]float64{5}, []float64{0}},
		{[]float64{3, 1, 2}, []float64{2, 0, 1}},
		{[]float64{1, 1, 2, 2, 2}, []float64{0.5, 0.5, 3, 3, 3}},
		{[]float64{7, 7}, []float64{0.5, 0.5}},
	} {
		if got := Ranks(tt.values); !slices.Equal(got, tt.want) {
			t.Errorf("Ranks(%v) = %v, want %v", tt.values, got, tt.want)
		}
	}
}

func TestFormat(t *testing.T) {
	for response, want := range map[string]float64{
		"<think>a</think><answer>b</answer>":                 1,
		" <think>\na</think>\n\n<answer>b</answer>\n":        1,
		"<think></think><answer></answer>":                   1,
		"x<think>a</think><answer>b</answer>":                0,
		"<think>a</think>x<answer>b</answer>":                0,
		"<think>a</think><answer>b</answer>x":                0,
		"<answer>b</answer><think>a</think>":                 0,
		"<think>a<answer>b</answer>":                         0,
		"<think>a</think><think>a</think><answer>b</answer>": 0,
		"<think><answer>a</think>b</answer>":                 0,
		"b":                                                  0,
		"":                                                   0,
	} {
		if got := Format(ThinkAnswer, response); got != want {
			t.Errorf("Format(%q) = %v, want %v", response, got, want)
		}
	}
	if got := Format("", "<think>a</think><answer>b</answer>"); got != 0 {
		t.Errorf("without a check the format reward is %v, want 0", got)
	}
	if CheckFormatName("xml") == nil || CheckFormatName(ThinkAnswer) != nil || CheckFormatName("") != nil {
		t.Error("CheckFormatName takes other names than it should")
	}
}

func TestAnswer(t *testing.T) {
	for response, want := range map[string]string{
		"plain ":                             "plain ",
		"<think>a</think>\n\nb":              "b",
		"a</think>b":                         "b",
		"<think>a</think>b<think>c</think>d": "d",
		"<think>a":                           "",
		"<think>a</think>b<think>c":          "",
		"<think>a</think>":                   "",
		"":                                   "",
	} {
		if got := DefaultReasoning.Answer(response); got != want {
			t.Errorf("Answer(%q) = %q, want %q", response, got, want)
		}
	}
	if got := (Reasoning{}).Answer("<think>a</think>b"); got != "<think>a</think>b" {
		t.Errorf("with stripping off the answer is %q", got)
	}
	if got := (Reasoning{Open: "[r]", Close: "[/r]"}).Answer("[r]a[/r]b"); got != "b" {
		t.Errorf("with other tags the answer is %q", got)
	}
}
