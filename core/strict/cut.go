package strict

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
)

// UnmarshalTexts is Unmarshal into a zero struct most of whose bytes are in a few
// members: texts gives their names and where they go, a *string or a *[]string
// within v. The result is the same, faster: encoding/json walks through every
// byte twice in small steps, and a group of responses is decoded on its caller's
// thread, which in Python holds the GIL meanwhile.
//
// The texts are cut out first and null is left in their place. Whatever is not
// plain on the way, an error included, sends the whole document to Unmarshal.
func UnmarshalTexts(field string, data []byte, v any, texts map[string]any) error {
	if err := checkText(field, data); err != nil {
		return err
	}
	if rest, found, ok := cut(data, texts); ok {
		if decode(field, rest, v) == nil {
			for name, text := range found {
				reflect.ValueOf(texts[name]).Elem().Set(reflect.ValueOf(text))
			}
			return nil
		}
		reflect.ValueOf(v).Elem().SetZero()
	}
	return decode(field, data, v)
}

// UnmarshalString decodes a document that is one string.
func UnmarshalString(field string, data []byte, v *string) error {
	if err := checkText(field, data); err != nil {
		return err
	}
	s := scanner{data: data}
	if text := s.text(); !s.bad && s.at == len(data) {
		*v = text
		return nil
	}
	return decode(field, data, v)
}

// cut takes the members that texts names out of an object: a string where a
// *string is given, a list of strings where a *[]string is. It decides nothing
// about validity: rest is yet to be decoded.
func cut(data []byte, texts map[string]any) (rest []byte, found map[string]any, ok bool) {
	s := scanner{data: data}
	found = map[string]any{}
	kept := 0 // data[:kept] has been copied to rest
	s.space()
	s.take('{')
	for !s.bad {
		s.space()
		name := s.text()
		s.space()
		s.take(':')
		s.space()
		from := s.at
		if _, twice := found[name]; twice {
			return nil, nil, false
		}
		if value := s.member(texts[name]); value != nil {
			found[name] = value
			rest = append(append(rest, data[kept:from]...), "null"...)
			kept = s.at
		} else {
			s.value()
		}
		s.space()
		if s.peek() != ',' {
			break
		}
		s.at++
	}
	if s.bad || s.peek() != '}' {
		return nil, nil, false
	}
	return append(rest, data[kept:]...), found, true
}

// scanner reads JSON it expects to be plain. Once bad it stays so and moves no
// more; its answers mean nothing then.
type scanner struct {
	data []byte
	at   int
	bad  bool
}

// peek returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	if s.bad || s.at >= len(s.data) {
		return 0
	}
	return s.data[s.at]
}

func (s *scanner) take(c byte) bool {
	if s.peek() != c {
		s.bad = true
		return false
	}
	s.at++
	return true
}

func (s *scanner) space() {
	for {
		switch s.peek() {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

// member reads a string or a list of strings, whichever goes there. Nil, and back
// where it was, if the value is something else.
func (s *scanner) member(to any) any {
	start := s.at
	switch to.(type) {
	case *string:
		if s.peek() == '"' {
			return s.text()
		}
	case *[]string:
		if texts, ok := s.texts(); ok {
			return texts
		}
		s.at = start
	}
	return nil
}

// texts reads a list of strings. False if it holds anything else.
func (s *scanner) texts() (texts []string, ok bool) {
	texts = []string{}
	if s.peek() != '[' {
		return nil, false
	}
	s.at++
	s.space()
	if s.peek() == ']' {
		s.at++
		return texts, true
	}
	for {
		s.space()
		if s.peek() != '"' {
			return nil, false
		}
		texts = append(texts, s.text())
		s.space()
		switch s.peek() {
		case ',':
			s.at++
		case ']':
			s.at++
			return texts, true
		default:
			return nil, false
		}
	}
}

// escapes are the one-letter escapes of JSON.
var escapes = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// text reads a string.
func (s *scanner) text() string {
	from := s.at
	s.skipText()
	if s.bad {
		return ""
	}
	raw := s.data[from+1 : s.at-1]
	for _, c := range raw {
		if c < ' ' {
			s.bad = true
			return ""
		}
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw)
	}
	return s.unescape(s.data[from:s.at])
}

// unescape decodes a string with its quotes. \u escapes, which can come in pairs
// and go wrong in ways, are left to encoding/json.
func (s *scanner) unescape(quoted []byte) string {
	var text strings.Builder
	text.Grow(len(quoted))
	raw := quoted[1 : len(quoted)-1]
	for {
		at := bytes.IndexByte(raw, '\\')
		if at < 0 {
			text.Write(raw)
			return text.String()
		}
		text.Write(raw[:at])
		switch c := escapes[raw[at+1]]; { // a quote would have ended it: one more is there
		case c != 0:
			text.WriteByte(c)
		case raw[at+1] == 'u':
			var slow string
			s.bad = json.Unmarshal(quoted, &slow) != nil
			return slow
		default:
			s.bad = true
			return ""
		}
		raw = raw[at+2:]
	}
}

// skipText moves past a string: to the first quote behind an even number of
// backslashes.
func (s *scanner) skipText() {
	if !s.take('"') {
		return
	}
	first := s.at
	for at := first; ; {
		next := bytes.IndexByte(s.data[at:], '"')
		if next < 0 {
			s.bad = true
			return
		}
		at += next
		slashes := 0
		for at-slashes > first && s.data[at-slashes-1] == '\\' {
			slashes++
		}
		at++
		if slashes%2 == 0 {
			s.at = at
			return
		}
	}
}

// value moves past any value. It only matches brackets and quotes: what is
// skipped is decoded later.
func (s *scanner) value() {
	depth := 0
	for {
		switch s.peek() {
		case 0:
			s.bad = true
			return
		case '"':
			s.skipText()
		case '{', '[':
			depth++
			s.at++
		case '}', ']':
			if depth == 0 {
				return // of the object around
			}
			depth--
			s.at++
		case ',':
			if depth == 0 {
				return
			}
			s.at++
		default:
			s.at++
		}
	}
}
