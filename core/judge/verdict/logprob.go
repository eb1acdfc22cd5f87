package verdict

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/judge"
)

// NoLogProbs is the error of an answer without token log-probabilities. Asking
// again does not help.
func NoLogProbs() error {
	return fault.New(fault.JudgeNoLogProbs, "", "the endpoint returns no token log-probabilities (logprobs, top_logprobs); "+
		"use a method that reads the answer's text, or an endpoint that gives them")
}

// Preference reads the probability that the judge names A, not B, from the
// answer's one label token (PRC without reasoning).
func Preference(r judge.Reply) (float64, error) { return LabelProb(r.Tokens, "A", "B") }

// Label reads the probability of Yes against No from the answer's one label
// token (point-wise GenRM).
func Label(r judge.Reply) (float64, error) { return LabelProb(r.Tokens, "Yes", "No") }

// Reasoned reads the probability that the judge names A, not B, at the
// verdict {"winner": ...} that follows its written reasoning.
func Reasoned(r judge.Reply) (float64, error) {
	if _, err := Winner(r.Text); err != nil {
		return 0, err
	}
	if len(r.Tokens) == 0 {
		return 0, NoLogProbs()
	}
	text, starts := joined(r.Tokens)
	at := strings.LastIndex(text, `"winner"`)
	if at < 0 {
		return 0, errors.New("the answer's tokens do not hold its verdict")
	}
	at += len(`"winner"`)
	for i, token := range r.Tokens {
		if starts[i] >= at && labelOf(token.Token, "A", "B") != 0 {
			return probAt(token, "A", "B")
		}
	}
	return 0, errors.New("no token of the answer is the verdict's label alone, so its probability cannot be read")
}

// LabelProb is the probability of the positive label at the answer token, which
// is the last token after the reasoning that is one of the two labels; both are
// normalised over the two. Tokens are compared without surrounding spaces and
// quotes, labels longer than one letter without regard to case. A label that is
// not among the alternatives counts as 0.
func LabelProb(tokens []judge.TokenProb, positive, negative string) (float64, error) {
	if len(tokens) == 0 {
		return 0, NoLogProbs()
	}
	text, starts := joined(tokens)
	answer, err := judge.AfterReasoning(text)
	if err != nil {
		return 0, err
	}
	for i := len(tokens) - 1; i >= 0 && starts[i] >= len(text)-len(answer); i-- {
		if labelOf(tokens[i].Token, positive, negative) != 0 {
			return probAt(tokens[i], positive, negative)
		}
	}
	return 0, fmt.Errorf("the answer is neither %q nor %q: %q", positive, negative, judge.Clip(strings.TrimSpace(answer)))
}

// joined is the text of the tokens and where each starts in it.
func joined(tokens []judge.TokenProb) (string, []int) {
	var b strings.Builder
	starts := make([]int, len(tokens))
	for i, t := range tokens {
		starts[i] = b.Len()
		b.WriteString(t.Token)
	}
	return b.String(), starts
}

// probAt normalises over the two labels what the token and its alternatives give
// them. The chosen token is usually among the alternatives too.
func probAt(t judge.TokenProb, positive, negative string) (float64, error) {
	var mass [2]float64
	seen := make(map[string]bool, len(t.Top)+1)
	for _, a := range append([]judge.Alternative{{Token: t.Token, LogProb: t.LogProb}}, t.Top...) {
		if seen[a.Token] || math.IsNaN(a.LogProb) {
			continue
		}
		seen[a.Token] = true
		p := math.Exp(min(a.LogProb, 0))
		switch labelOf(a.Token, positive, negative) {
		case 1:
			mass[0] += p
		case -1:
			mass[1] += p
		}
	}
	sum := mass[0] + mass[1]
	if !(sum > 0) {
		return 0, fmt.Errorf("the log-probabilities at the answer token give neither %q nor %q any weight", positive, negative)
	}
	return mass[0] / sum, nil
}

// labelOf is 1 for the positive label, -1 for the negative, else 0.
func labelOf(token, positive, negative string) int {
	token = strings.Trim(token, " \t\r\n\"'`\u0120\u2581")
	switch {
	case sameLabel(token, positive):
		return 1
	case sameLabel(token, negative):
		return -1
	}
	return 0
}

func sameLabel(token, label string) bool {
	if utf8.RuneCountInString(label) > 1 {
		return strings.EqualFold(token, label)
	}
	return token == label
}
