package strict

import (
	"bytes"
	"encoding/json"
	"strings"
)

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
