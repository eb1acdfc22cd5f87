package judge

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// The tags around a judge's reasoning, as models write it when the endpoint does
// not take it out.
const (
	OpenReasoning  = "<think>"
	CloseReasoning = "</think>"
)

// ErrOpenReasoning means that the answer has no part after its reasoning.
var ErrOpenReasoning = errors.New("the reasoning block <think> is never closed, so there is no verdict after it")

// AfterReasoning returns what follows the last closed reasoning block, or
// ErrOpenReasoning if a block is left open.
func AfterReasoning(text string) (string, error) {
	if i := strings.LastIndex(text, CloseReasoning); i >= 0 {
		text = text[i+len(CloseReasoning):]
	}
	if strings.Contains(text, OpenReasoning) {
		return "", ErrOpenReasoning
	}
	return text, nil
}

// Clip bounds what an error quotes of an answer.
func Clip(s string) string { return Shorten(s, 80) }

// Shorten cuts text to n bytes at most, keeping its start and, longer, its end,
// where a verdict stands.
func Shorten(text string, n int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= n {
		return text
	}
	const gap = " [...] "
	head := n / 3
	tail := len(text) - (n - head - len(gap))
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return text[:head] + gap + text[tail:]
}
