package options

import (
	"encoding/json"
	"errors"
	"reflect"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/strict"
)

// Parse reads options from JSON, strictly: an unknown name or a wrong type is an
// error that names it. Absent and null options are defaults. The result is
// validated and complete.
//
// A simulated judge shares only the options that every judge has; its own are
// returned as rest, a JSON object for the simulated judge's configuration to
// decode, nil for any other type.
func Parse(data []byte) (o Judge, rest json.RawMessage, err error) {
	var given map[string]json.RawMessage
	if err := strict.Unmarshal("judge", data, &given); err != nil {
		return Judge{}, nil, err
	}
	o = o.WithDefaults() // what is given replaces them, zeros too
	if kind, ok := given["type"]; ok {
		if err := strict.Unmarshal("judge.type", kind, &o.Type); err != nil {
			return Judge{}, nil, err
		}
	}
	if o.Type == TypeSimulated {
		if data, rest, err = split(given); err != nil {
			return Judge{}, nil, fault.New(fault.Internal, "judge", "%w", err)
		}
	}
	if err := strict.Unmarshal("judge", data, &o); err != nil {
		return Judge{}, nil, err
	}
	o = o.withPointers()
	return o, rest, o.Validate()
}

// split divides options into those of every judge and the others.
func split(given map[string]json.RawMessage) (every, rest []byte, err error) {
	shared := map[string]json.RawMessage{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Judge]()) {
		name := f.Tag.Get("json")
		if value, ok := given[name]; ok && f.Tag.Get("every") != "" {
			shared[name] = value
			delete(given, name)
		}
	}
	if every, err = json.Marshal(shared); err == nil {
		rest, err = json.Marshal(given)
	}
	return every, rest, err
}

// oneOrMore is a list of strings that may be written as its only element.
type oneOrMore []string

// UnmarshalJSON reads either form.
func (l *oneOrMore) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*l = oneOrMore{one}
		return nil
	}
	if json.Unmarshal(data, (*[]string)(l)) != nil {
		return errors.New("want a string or a list of strings")
	}
	return nil
}
