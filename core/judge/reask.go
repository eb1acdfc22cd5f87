package judge

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rankbuffer/rankbuffer/core/prompt"
)

// maxQuoted bounds what of a bad answer is sent back, in bytes.
const maxQuoted = 2000

// corrected appends the bad answer and what is wrong with it. The roles keep
// alternating, which some chat templates insist on.
func corrected(messages []prompt.Message, reply Reply, why error) []prompt.Message {
	said, err := afterReasoning(reply.Text)
	if err != nil {
		said = reply.Text
	}
	if said = shorten(strings.TrimSpace(said), maxQuoted); said == "" {
		said = "(no answer)"
	}
	return append(slices.Clone(messages),
		prompt.Message{Role: "assistant", Content: said},
		prompt.Message{Role: "user", Content: "That answer cannot be used: " + shorten(why.Error(), maxQuoted) +
			"\nAnswer the request above again. Give only the answer, exactly in the format it asks for, with no other text."})
}

// shorten cuts text to n bytes at most, keeping its start and, longer, its end,
// where a verdict stands.
func shorten(text string, n int) string {
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
