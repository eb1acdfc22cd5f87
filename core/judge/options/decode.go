package options

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"

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
	o = o.WithDefaults()
	given, names, err := members(data)
	if err != nil {
		return Judge{}, nil, err
	}
	if err := decode("type", given["type"], reflect.ValueOf(&o.Type)); err != nil {
		return Judge{}, nil, err
	}
	known := []string{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Judge]()) {
		name := f.Tag.Get("json")
		if _, every := f.Tag.Lookup("every"); o.Type == TypeSimulated && !every {
			continue
		}
		if err := decode(name, given[name], reflect.ValueOf(&o).Elem().FieldByIndex(f.Index).Addr()); err != nil {
			return Judge{}, nil, err
		}
		delete(given, name)
		known = append(known, name)
	}
	if o.Type == TypeSimulated {
		rest, err = json.Marshal(given)
		if err != nil {
			return Judge{}, nil, fault.New(fault.InvalidJSON, "judge", "%w", err)
		}
		return o, rest, o.Validate()
	}
	for _, name := range names {
		if _, unknown := given[name]; unknown {
			return Judge{}, nil, fault.New(fault.UnknownField, "judge."+name,
				"this option is unknown; the options are %s", strings.Join(known, ", "))
		}
	}
	return o, nil, o.Validate()
}

// members returns the members of a JSON object and their names as they come.
func members(data []byte) (given map[string]json.RawMessage, names []string, err error) {
	if err := strict.Unmarshal("judge", data, &given); err != nil {
		return nil, nil, fault.New(fault.InvalidJSON, "", "%w", err)
	}
	seen := make(map[string]bool)
	dec := json.NewDecoder(bytes.NewReader(data)) // of an object or null, well-formed
	_, err = dec.Token()
	for err == nil && dec.More() {
		token, _ := dec.Token()
		name, _ := token.(string)
		if seen[name] {
			return nil, nil, fault.New(fault.InvalidValue, "judge."+name, "this option is given twice")
		}
		seen[name] = true
		names = append(names, name)
		var value json.RawMessage
		err = dec.Decode(&value)
	}
	return given, names, nil
}

// decode decodes one option, if it was given. Its errors never quote the value:
// it may be a secret.
func decode(name string, raw json.RawMessage, target reflect.Value) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber() // extra_body's numbers go out as they came in
	err := dec.Decode(target.Interface())
	var typ *json.UnmarshalTypeError
	switch {
	case errors.As(err, &typ):
		got, _, _ := strings.Cut(typ.Value, " ")
		return fault.New(fault.InvalidValue, "judge."+name, "need %s, got %s", wanted(target.Elem().Type()), got)
	case err != nil:
		return fault.New(fault.InvalidValue, "judge."+name, "%w", err)
	}
	return nil
}

func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return wanted(t.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "an integer"
	case reflect.Float64:
		return "a number"
	case reflect.String:
		return "a string"
	case reflect.Slice:
		return "a string or a list of strings"
	}
	if t.Elem().Kind() == reflect.String {
		return "an object of strings"
	}
	return "an object"
}

// oneOrMore is a list of strings that may be written as its only element.
type oneOrMore []string

// UnmarshalJSON reads either form.
func (l *oneOrMore) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		*l = make([]string, 1)
		return json.Unmarshal(data, &(*l)[0])
	}
	return json.Unmarshal(data, (*[]string)(l))
}
