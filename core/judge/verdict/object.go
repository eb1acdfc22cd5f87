package verdict

import (
	"encoding/json"
	"fmt"
	"strings"
)

// object is one JSON object found in a text: its members in order, each key
// decoded and each value as it stands there.
type object []member

type member struct{ key, value string }

// get returns the value of a key, "" if it is absent.
func (o object) get(key string) string {
	for _, m := range o {
		if m.key == key {
			return m.value
		}
	}
	return ""
}

// repeated returns a key that occurs twice.
func (o object) repeated() (string, bool) {
	seen := make(map[string]bool, len(o))
	for _, m := range o {
		if seen[m.key] {
			return m.key, true
		}
		seen[m.key] = true
	}
	return "", false
}

// eachObject finds the outermost well-formed JSON objects of a text, in order,
// and hands out the text between them as well. A broken object is passed over up
// to the byte that breaks it and counts as text between, so every byte is read
// once and the time is linear whatever the text.
func eachObject(text string, between func(string), found func(object)) {
	from, at := 0, 0
	for {
		brace := strings.IndexByte(text[at:], '{')
		if brace < 0 {
			between(text[from:])
			return
		}
		start := at + brace
		obj, end, ok := scanObject(text, start)
		if at = end; ok {
			between(text[from:start])
			found(obj)
			from = end
		}
	}
}

// scanObject reads the object that starts at text[start]. It returns its members
// and the offset after it, or, if it is not well-formed JSON, the offset of the
// byte that breaks it.
func scanObject(text string, start int) (obj object, end int, ok bool) {
	s := &scanner{text: text, at: start, depth: 1}
	ok = s.members(func(key, value string) {
		obj = append(obj, member{unquote(key), value})
	})
	return obj, s.at, ok
}

// unquote decodes a JSON string known to be well-formed.
func unquote(quoted string) string {
	if strings.IndexByte(quoted, '\\') < 0 {
		return strings.ToValidUTF8(quoted[1:len(quoted)-1], "\uFFFD")
	}
	var s string
	if err := json.Unmarshal([]byte(quoted), &s); err != nil {
		return fmt.Sprintf("\uFFFD%q", err)
	}
	return s
}
