package strict

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/rankbuffer/rankbuffer/core/fault"
)

// walker goes through valid JSON beside the type it was decoded into and finds
// the first field that the type does not have. With explain it also decodes each
// value by itself, to find the one that did not fit.
type walker struct {
	scanner
	explain bool

	stop  int   // if not 0: the offset at which to return wrong, whatever the types
	wrong error // as an error about the member that ends there or later
}

// walk moves past one value of type t; nil is any type.
func (w *walker) walk(t reflect.Type) error {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == nil && w.peek() == '{':
		return w.members(func(string) (reflect.Type, error) { return nil, nil })
	case t == nil && w.peek() == '[':
		return w.items(nil)
	case t == nil:
		return w.leaf(nil)
	case reflect.PointerTo(t).Implements(unmarshaler):
		return w.leaf(t)
	case w.peek() == '{' && t.Kind() == reflect.Struct:
		fields := fieldsOf(t)
		return w.members(func(name string) (reflect.Type, error) {
			if f, ok := fields.types[name]; ok {
				return f, nil
			}
			return nil, unknown(name, fields.names)
		})
	case w.peek() == '{' && t.Kind() == reflect.Map:
		return w.members(func(string) (reflect.Type, error) { return t.Elem(), nil })
	case w.peek() == '[' && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array):
		return w.items(t.Elem())
	}
	return w.leaf(t)
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

func (w *walker) leaf(t reflect.Type) error {
	from := w.at
	w.value()
	switch {
	case w.stopped():
		return w.wrong
	case w.explain:
		return leaf(w.data[from:w.at], t)
	}
	return nil
}

func (w *walker) stopped() bool { return w.stop > 0 && w.at >= w.stop }

// maxName bounds what of a name is repeated in errors, in bytes.
const maxName = 100

func (w *walker) members(typeOf func(name string) (reflect.Type, error)) error {
	w.take('{')
	seen := map[string]bool{}
	for w.space(); w.peek() == '"'; w.space() {
		name := w.text()
		w.space()
		w.take(':')
		w.space()
		repeated := seen[name]
		seen[name] = true
		name = strings.ToValidUTF8(name[:min(len(name), maxName)], "")
		if w.stopped() {
			return fault.In(name, w.wrong)
		}
		t, err := typeOf(name)
		if err != nil {
			return err
		}
		if repeated {
			return fault.New(fault.InvalidValue, name, "this name is given twice")
		}
		if err := w.walk(t); err != nil {
			return fault.In(name, err)
		}
		w.comma()
	}
	w.take('}')
	return nil
}

func (w *walker) items(t reflect.Type) error {
	w.take('[')
	i := 0
	for w.space(); !w.bad && w.peek() != ']'; w.space() {
		if w.peek() == 'n' && t != nil && t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface {
			return fault.New(fault.InvalidValue, fmt.Sprintf("[%d]", i), "is null, want %s", plainType(t))
		}
		if err := w.walk(t); err != nil {
			return fault.In(fmt.Sprintf("[%d]", i), err)
		}
		w.comma()
		i++
	}
	w.take(']')
	return nil
}

// comma moves past the comma between two values, if there is one.
func (w *walker) comma() {
	if w.space(); w.peek() == ',' {
		w.at++
	}
}

// fields are the names that a struct is decoded by, in their order.
type fields struct {
	names []string
	types map[string]reflect.Type
}

var knownFields sync.Map // reflect.Type -> fields

func fieldsOf(t reflect.Type) fields {
	if known, ok := knownFields.Load(t); ok {
		return known.(fields)
	}
	out := fields{types: map[string]reflect.Type{}}
	for _, f := range reflect.VisibleFields(t) {
		tag := f.Tag.Get("json")
		name, _, _ := strings.Cut(tag, ",")
		if !f.IsExported() || tag == "-" || f.Anonymous && name == "" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		out.names = append(out.names, name)
		out.types[name] = f.Type
	}
	knownFields.Store(t, out)
	return out
}
