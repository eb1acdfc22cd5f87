package reward

import (
	"strings"

	"github.com/rankbuffer/rankbuffer/core/fault"
)

// ThinkAnswer is the format check of RRC and Tournament-GRPO: reasoning in
// <think>, then the answer in <answer>, nothing else around them.
const ThinkAnswer = "think_answer"

// CheckFormatName refuses a format check that does not exist.
func CheckFormatName(name string) error {
	return fault.OneOf("format_check", name, "", ThinkAnswer)
}

// Format scores the raw response (reasoning included) 1 or 0 by the named
// check; without a check every response scores 0.
func Format(check, response string) float64 {
	if check == ThinkAnswer && thinkAnswer(response) {
		return 1
	}
	return 0
}

// thinkAnswer wants <think>...</think><answer>...</answer>, each tag exactly
// once and only white space outside.
func thinkAnswer(s string) bool {
	for _, tag := range []string{"<think>", "</think>", "<answer>", "</answer>"} {
		if strings.Count(s, tag) != 1 {
			return false
		}
	}
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(s, "<think>") || !strings.HasSuffix(s, "</answer>") {
		return false
	}
	_, rest, _ := strings.Cut(s, "</think>")
	return strings.HasPrefix(strings.TrimSpace(rest), "<answer>")
}
