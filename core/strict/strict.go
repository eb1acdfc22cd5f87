// Package strict decodes JSON from outside: unknown fields, trailing data and
// text that is not UTF-8 are errors that name what is wrong.
package strict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Unmarshal decodes exactly one JSON value into v. what names the document in
// errors ("config", "group").
func Unmarshal(what string, data []byte, v any) error {
	if err := checkText(what, data); err != nil {
		return err
	}
	return decode(what, data, v)
}

// checkText names the member whose text encoding/json would change silently.
func checkText(what string, data []byte) error {
	where, wrong := badText(data)
	switch {
	case wrong == "":
		return nil
	case where == "":
		return fmt.Errorf("%s: %s", what, wrong)
	default:
		return fmt.Errorf("%s: %s: %s", what, where, wrong)
	}
}

func decode(what string, data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("%s: %w", what, explain(err))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: more data after the JSON value", what)
	}
	return nil
}

func invalidAt(data []byte) int {
	at := 0
	for at < len(data) {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return at
}

// explain says what a decoder error means in the terms of the document.
func explain(err error) error {
	var typ *json.UnmarshalTypeError
	if errors.As(err, &typ) && typ.Field != "" {
		return fmt.Errorf("%s: want %s, got %s", typ.Field, plainType(typ.Type.String()), typ.Value)
	}
	if errors.Is(err, io.EOF) {
		return errors.New("empty")
	}
	if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return fmt.Errorf("unknown field %s", field)
	}
	return err
}

func plainType(t string) string {
	switch {
	case strings.HasPrefix(t, "int"), strings.HasPrefix(t, "uint"):
		return "an integer"
	case strings.HasPrefix(t, "float"):
		return "a number"
	case t == "bool":
		return "true or false"
	case strings.HasPrefix(t, "[]"):
		return "a list"
	case t == "string":
		return "a string"
	default:
		return "an object"
	}
}
