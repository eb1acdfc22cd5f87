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

// maxDepth bounds nesting: a judge's verdict needs 3 levels, and the containers
// open at a time fit the bits of one word.
const maxDepth = 64

// What scanObject may meet next.
const (
	atKeyOrEnd = iota
	atKey
	atColon
	atValue
	atValueOrEnd
	atCommaOrEnd
)

// scanObject reads the object that starts at text[start]. It returns its members
// and the offset after it, or, if it is not well-formed JSON, the offset of the
// byte that breaks it.
func scanObject(text string, start int) (obj object, end int, ok bool) {
	var (
		objects  uint64 = 1 // bit d: the container at depth d+1 is an object
		depth           = 1
		state           = atKeyOrEnd
		i               = start + 1
		key      string
		valueAt  int
		finished = func() { // a value of some container ends at i
			if state = atCommaOrEnd; depth == 1 {
				obj = append(obj, member{key, text[valueAt:i]})
			}
		}
	)
	for {
		for i < len(text) && isSpace(text[i]) {
			i++
		}
		if i == len(text) {
			return nil, i, false
		}
		c := text[i]
		inObject := objects>>(depth-1)&1 == 1
		switch {
		case c == '}' && inObject && (state == atKeyOrEnd || state == atCommaOrEnd),
			c == ']' && !inObject && (state == atValueOrEnd || state == atCommaOrEnd):
			i++
			if depth--; depth == 0 {
				return obj, i, true
			}
			finished()
		case c == '"' && (state == atKeyOrEnd || state == atKey):
			last, ok := scanString(text, i)
			if !ok {
				return nil, last, false
			}
			if depth == 1 {
				key = unquote(text[i:last])
			}
			i, state = last, atColon
		case c == ':' && state == atColon:
			i, state = i+1, atValue
		case c == ',' && state == atCommaOrEnd:
			i++
			if state = atValue; inObject {
				state = atKey
			}
		case state == atValue || state == atValueOrEnd:
			if depth == 1 {
				valueAt = i
			}
			if c == '{' || c == '[' {
				if depth == maxDepth {
					return nil, i, false
				}
				objects &^= 1 << depth
				if state = atValueOrEnd; c == '{' {
					objects |= 1 << depth
					state = atKeyOrEnd
				}
				depth++
				i++
				continue
			}
			last, ok := scanScalar(text, i)
			if i = last; !ok {
				return nil, i, false
			}
			finished()
		default:
			return nil, i, false
		}
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

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
