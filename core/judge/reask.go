package judge

import (
	"errors"
	"slices"
	"strings"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/prompt"
)

// maxQuoted bounds what of a bad answer is sent back, in bytes.
const maxQuoted = 2000

// corrected appends the bad answer and what is wrong with it. The roles keep
// alternating, which some chat templates insist on.
func corrected(messages []prompt.Message, reply Reply, why error) []prompt.Message {
	said, err := AfterReasoning(reply.Text)
	if err != nil {
		said = reply.Text
	}
	var sentence *fault.Error
	if errors.As(why, &sentence) {
		why = sentence.Err // without our option's name, which means nothing to the judge
	}
	if said = Shorten(strings.TrimSpace(said), maxQuoted); said == "" {
		said = "(no answer)"
	}
	return append(slices.Clone(messages),
		prompt.Message{Role: "assistant", Content: said},
		prompt.Message{Role: "user", Content: "That answer cannot be used: " + Shorten(why.Error(), maxQuoted) +
			"\nAnswer the request above again. Give only the answer, exactly in the format it asks for, with no other text."})
}
