package engine

import (
	"fmt"

	"github.com/rankbuffer/rankbuffer/core/fault"
)

var errClosed = fault.New(fault.Closed, "", "the scorer was closed")

func invalid(field, format string, args ...any) error {
	return fault.New(fault.InvalidValue, field, format, args...)
}

// inDocument names the document that an error is about as a whole.
func inDocument(name string, err error) error {
	if err == nil || fault.From(err).Field != "" {
		return err
	}
	return fault.In(name, err)
}

// ofQuery names the query that bad input is about.
func ofQuery(id string, err error) error {
	if err == nil || id == "" {
		return err
	}
	return fmt.Errorf("query %q: %w", id, err)
}
