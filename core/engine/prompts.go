package engine

import (
	"fmt"

	"github.com/rankbuffer/rankbuffer/core/prompt"
)

// PromptTemplate returns the template that ships for a kind of call.
func PromptTemplate(kind string) (string, error) {
	text, err := prompt.Source(prompt.Kind(kind))
	if err != nil {
		return "", fmt.Errorf("engine: %w: prompts.%s: %w", ErrInvalid, kind, err)
	}
	return text, nil
}
