// Package strict decodes JSON from outside. It refuses what encoding/json lets
// pass: unknown fields, names in another case, null in a list, text that is not UTF-8. Every error is a *fault.Error that names the field.
package strict

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/rankbuffer/rankbuffer/core/fault"
)

// Unmarshal decodes exactly one JSON value into v. field is where the value
// stands in the caller's document, as "method.rankbuffer"; "" for all of it.
func Unmarshal(field string, data []byte, v any) error {
	if err := checkText(field, data); err != nil {
		return err
	}
	return decode(field, data, v)
}

// CheckText refuses text that is not UTF-8.
func CheckText(field string, text []byte) error {
	if at := invalidAt(text); at >= 0 {
		return fault.New(fault.InvalidValue, field, "is not valid UTF-8 at byte %d", at)
	}
	return nil
}

func decode(field string, data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if syntax := new(json.SyntaxError); err != nil && !json.Valid(data) && errors.As(err, &syntax) {
		return fault.New(fault.InvalidJSON, field, "not valid JSON: %w (byte %d of %d)", err, syntax.Offset, len(data))
	}
	w := walker{scanner: scanner{data: data}, explain: err != nil}
	w.space()
	if found := w.walk(reflect.TypeOf(v).Elem()); found != nil {
		return within(field, found)
	}
	if err != nil {
		return fault.New(fault.InvalidValue, field, "%w", err)
	}
	return nil
}

// within puts the document's place in front of the field of an error, if it has one.
func within(field string, err error) error {
	if field == "" {
		return err
	}
	return fault.In(field, err)
}

// EncodeLine writes v as one line of JSON, with < > & as they are: a text that is
// saved or sent stays readable and short.
func EncodeLine(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// leaf explains why a value does not fit its type; nil if it does.
func leaf(raw []byte, t reflect.Type) error {
	err := json.Unmarshal(raw, reflect.New(t).Interface())
	if typ := new(json.UnmarshalTypeError); errors.As(err, &typ) {
		return fault.New(fault.InvalidValue, "", "want %s, got %s", plainType(typ.Type), typ.Value)
	}
	return fault.Or(fault.InvalidValue, err)
}

func plainType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "an integer"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.String:
		return "a string"
	default:
		return "an object"
	}
}

// unknown names a field that a type does not have, and what may have been meant.
func unknown(name string, known []string) error {
	hint := "the fields are " + strings.Join(known, ", ")
	if near := nearest(name, known); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return fault.New(fault.UnknownField, name, "unknown field; %s", hint)
}

// nearest is the known name with at most two letters added, removed or changed,
// letters of the other case not counted; "" if none is so close.
func nearest(name string, known []string) string {
	best, found := 3, ""
	for _, k := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d < best && d < len(k) {
			best, found = d, k
		}
	}
	return found
}

// distance is the edit distance (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := corner
			if a[i] != b[j] {
				change++
			}
			corner = row[j+1]
			row[j+1] = min(change, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
