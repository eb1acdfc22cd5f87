package options

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/strict"
)

// Parse reads options from JSON, strictly: an unknown name or a wrong type is an
// error that names it. Absent and null options are defaults. The result is
// validated and complete.
//
// A simulated judge shares only the options that say how hard to try; its own are
// returned as rest, a JSON object for the simulated judge's configuration to
// decode, nil for any other type.
func Parse(data []byte) (o Judge, rest json.RawMessage, err error) {
	given, names, err := members(data)
	if err != nil {
		return Judge{}, nil, err
	}
	if err := decode(field{name: "type", kind: "a string"}, given["type"], &o.Type); err != nil {
		return Judge{}, nil, err
	}
	delete(given, "type")
	fields := fieldsOf(o.Type)
	for _, f := range fields {
		target := f.into(&o)
		if err := decode(f, given[f.name], target); err != nil {
			return Judge{}, nil, err
		}
		delete(given, f.name)
	}
	if o.Type == TypeSimulated {
		if rest, err = json.Marshal(given); err != nil {
			return Judge{}, nil, fault.New(fault.InvalidJSON, "judge", "%w", err)
		}
		given = nil
	}
	for _, name := range names {
		if _, unknown := given[name]; unknown {
			return Judge{}, nil, fault.New(fault.UnknownField, "judge."+name, "unknown option; the options are type, %s", namesOf(fields))
		}
	}
	o = o.WithDefaults()
	return o, rest, o.Validate()
}

// members returns the members of a JSON object and their names as they come.
func members(data []byte) (map[string]json.RawMessage, []string, error) {
	given := make(map[string]json.RawMessage)
	if err := strict.Unmarshal("judge", data, &given); err != nil {
		return nil, nil, fault.New(fault.InvalidJSON, "", "%w", err)
	}
	var names []string
	seen := make(map[string]bool)
	dec := json.NewDecoder(bytes.NewReader(data)) // of an object that is well-formed
	_, _ = dec.Token()
	for dec.More() {
		token, _ := dec.Token()
		name, _ := token.(string)
		if seen[name] {
			return nil, nil, fault.New(fault.InvalidValue, "judge."+name, "given twice")
		}
		seen[name] = true
		names = append(names, name)
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, nil, fault.New(fault.InvalidJSON, "judge."+name, "%w", err)
		}
	}
	return given, names, nil
}

func namesOf(fields []field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return strings.Join(names, ", ")
}

// decode decodes one option, if it was given. Its errors never quote the value:
// it may be a secret.
func decode(f field, raw json.RawMessage, target any) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber() // extra_body's numbers go out as they came in
	err := dec.Decode(target)
	var typ *json.UnmarshalTypeError
	switch {
	case errors.As(err, &typ):
		got, _, _ := strings.Cut(typ.Value, " ")
		return fault.New(fault.InvalidValue, "judge."+f.name, "need %s, got %s", f.kind, got)
	case err != nil:
		return fault.New(fault.InvalidValue, "judge."+f.name, "%w", err)
	}
	return refuseZero(f, target)
}

// refuseZero keeps a zero that was written from passing for an option left out,
// which takes its default: no timeout at all is not what 120 s are.
func refuseZero(f field, target any) error {
	problem := ""
	if s, ok := target.(*Seconds); ok && *s == 0 {
		problem = wrongSeconds(0)
	}
	if n, ok := target.(*int); ok && f.name == "max_concurrency" {
		problem = below(*n, 1)
	}
	if problem != "" {
		return fault.New(fault.InvalidValue, "judge."+f.name, "%s", problem)
	}
	return nil
}

// oneOrMore is a list of strings that may be written as its only element.
type oneOrMore []string

func (l *oneOrMore) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		*l = make([]string, 1)
		return json.Unmarshal(data, &(*l)[0])
	}
	return json.Unmarshal(data, (*[]string)(l))
}
