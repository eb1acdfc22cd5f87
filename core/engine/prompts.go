package engine

import "github.com/rankbuffer/rankbuffer/core/prompt"

// PromptTemplate returns the template that ships for a kind of call.
func PromptTemplate(kind string) (string, error) { return prompt.Source(prompt.Kind(kind)) }
