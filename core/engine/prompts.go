package engine

import (
	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/prompt"
)

// PromptTemplate returns the template that ships for a kind of call.
func PromptTemplate(kind string) (string, error) {
	text, err := prompt.Source(prompt.Kind(kind))
	if err != nil {
		return "", fault.Or(fault.InvalidValue, err)
	}
	return text, nil
}
