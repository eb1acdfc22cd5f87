package verdict

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/judge"
)

func token(text string, p float64, top ...judge.Alternative) judge.TokenProb {
	return judge.TokenProb{Token: text, LogProb: math.Log(p), Top: top}
}

func alt(text string, p float64) judge.Alternative {
	return judge.Alternative{Token: text, LogProb: math.Log(p)}
}

func TestLabelProb(t *testing.T) {
	for _, tc := range []struct {
		name   string
		tokens []judge.TokenProb
		want   float64
		wrong  string
	}{
		{"one token", []judge.TokenProb{token("A", 0.6, alt("A", 0.6), alt("B", 0.2))}, 0.75, ""},
		{"the other label", []judge.TokenProb{token("B", 0.6, alt("B", 0.6), alt("A", 0.2))}, 0.25, ""},
		{"the chosen token is not among the alternatives", []judge.TokenProb{token("A", 0.6, alt("B", 0.2))}, 0.75, ""},
		{"with spaces, and end of text", []judge.TokenProb{token(" A", 0.5, alt(" A", 0.5), alt("A", 0.1), alt("B", 0.2)), token("<|im_end|>", 1)}, 0.75, ""},
		{"the last of several", []judge.TokenProb{token("B", 1), token("\n", 1), token("A", 0.5, alt("B", 0.5))}, 0.5, ""},
		{"without the other label", []judge.TokenProb{token("A", 0.9)}, 1, ""},
		{"a quoted label", []judge.TokenProb{token(`"A`, 0.5, alt(`"B`, 0.5))}, 0.5, ""},
		{"after reasoning", []judge.TokenProb{token("<think>", 1), token("B", 1), token("</think>", 1), token("A", 0.8, alt("B", 0.2))}, 0.8, ""},
		{"only in reasoning", []judge.TokenProb{token("<think>", 1), token("B", 1), token("</think>", 1), token("C", 1)}, 0, "neither"},
		{"reasoning not closed", []judge.TokenProb{token("<think>", 1), token("A", 1)}, 0, "never closed"},
		{"a tag in pieces", []judge.TokenProb{token("<th", 1), token("ink>", 1), token("A", 1)}, 0, "never closed"},
		{"neither", []judge.TokenProb{token("C", 1, alt("A", 0.1))}, 0, "neither"},
		{"a letter is not the label in small", []judge.TokenProb{token("a", 1)}, 0, "neither"},
		{"no weight", []judge.TokenProb{{Token: "A", LogProb: math.Inf(-1)}}, 0, "any weight"},
		{"not a number", []judge.TokenProb{{Token: "A", LogProb: math.NaN()}}, 0, "any weight"},
		{"more than certain", []judge.TokenProb{{Token: "A", LogProb: 5, Top: []judge.Alternative{{Token: "B", LogProb: 5}}}}, 0.5, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := LabelProb(tc.tokens, "A", "B")
			check(t, math.Abs(got-tc.want) < 1e-12, true, err, tc.wrong)
		})
	}
	if _, err := LabelProb(nil, "A", "B"); !errors.Is(err, fault.JudgeNoLogProbs) {
		t.Errorf("without tokens: %v", err)
	}
	if p, err := Label(judge.Reply{Tokens: []judge.TokenProb{token(" yes", 0.3, alt("No", 0.1))}}); err != nil || math.Abs(p-0.75) > 1e-12 {
		t.Errorf("a word in small: %v, %v", p, err)
	}
}

func TestParseReasoned(t *testing.T) {
	reply := func(tokens ...judge.TokenProb) judge.Reply {
		var b strings.Builder
		for _, t := range tokens {
			b.WriteString(t.Token)
		}
		return judge.Reply{Text: b.String(), Tokens: tokens}
	}
	start := []judge.TokenProb{token("B", 1), token(" wins: ", 1), token(`{"win`, 1), token(`ner": "`, 1)}
	with := func(rest ...judge.TokenProb) judge.Reply {
		return reply(append(append([]judge.TokenProb(nil), start...), rest...)...)
	}
	for _, tc := range []struct {
		name  string
		reply judge.Reply
		want  float64
		wrong string
	}{
		{"its own token", with(token("A", 0.9, alt("B", 0.1)), token(`"}`, 1)), 0.9, ""},
		{"words after it", with(token("A", 0.9, alt("B", 0.1)), token(`"} `, 1), token("B", 1), token(" loses", 1)), 0.9, ""},
		{"glued to the quote", reply(token(`{"winner":`, 1), token(` "A"`, 0.9, alt(` "B"`, 0.1)), token("}", 1)), 0.9, ""},
		{"glued to more", reply(token(`{"winner": "A"}`, 1)), 0, "no token of the answer"},
		{"not a verdict", reply(token("A", 1)), 0, "no JSON object"},
		{"tokens of something else", judge.Reply{Text: `{"winner": "A"}`, Tokens: start[:1]}, 0, "do not hold"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Reasoned(tc.reply)
			check(t, math.Abs(got-tc.want) < 1e-12, true, err, tc.wrong)
		})
	}
	if _, err := Reasoned(judge.Reply{Text: `{"winner": "A"}`}); !errors.Is(err, fault.JudgeNoLogProbs) {
		t.Errorf("without tokens: %v", err)
	}
}
