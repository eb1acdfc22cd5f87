package verdict

import (
	"regexp"
	"strings"
)

// scanner reads JSON (RFC 8259). Its methods move it past what they read and
// report whether that was well-formed; if not, it stands at the byte that breaks
// it.
type scanner struct {
	text  string
	at    int
	depth int // of the containers that are open
}

// maxDepth bounds nesting: a judge's verdict needs 3 levels.
const maxDepth = 64

// next skips white space and returns the byte that follows, 0 at the end.
func (s *scanner) next() byte {
	for s.at < len(s.text) && strings.IndexByte(" \n\t\r", s.text[s.at]) >= 0 {
		s.at++
	}
	return s.here()
}

func (s *scanner) here() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

// take moves past the byte c.
func (s *scanner) take(c byte) bool {
	ok := s.next() == c
	if ok {
		s.at++
	}
	return ok
}

// members reads an object and hands out its members as they stand.
func (s *scanner) members(each func(key, value string)) bool {
	return s.list('{', '}', func() bool {
		s.next()
		key := s.at
		if !s.string() {
			return false
		}
		keyEnd := s.at
		if !s.take(':') {
			return false
		}
		s.next()
		value := s.at
		if !s.value() {
			return false
		}
		each(s.text[key:keyEnd], s.text[value:s.at])
		return true
	})
}

// list reads items between two brackets, with commas between them.
func (s *scanner) list(open, end byte, item func() bool) bool {
	if !s.take(open) {
		return false
	}
	if s.take(end) {
		return true
	}
	for item() {
		if s.take(end) {
			return true
		}
		if !s.take(',') {
			return false
		}
	}
	return false
}

func (s *scanner) value() bool {
	switch c := s.next(); {
	case c == '{' || c == '[':
		if s.depth == maxDepth {
			return false
		}
		s.depth++
		defer func() { s.depth-- }()
		if c == '{' {
			return s.members(func(_, _ string) {})
		}
		return s.list('[', ']', s.value)
	case c == '"':
		return s.string()
	case c == '-' || isDigit(c):
		digits := len(number.FindString(s.text[s.at:]))
		s.at += digits
		return digits > 0
	}
	for _, word := range []string{"true", "false", "null"} {
		if strings.HasPrefix(s.text[s.at:], word) {
			s.at += len(word)
			return true
		}
	}
	return false
}

func (s *scanner) string() bool {
	if s.here() != '"' {
		return false
	}
	for s.at++; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '"':
			s.at++
			return true
		case c < ' ' || c == '\\' && !s.escape():
			return false
		}
	}
	return false
}

// escape moves from a backslash to the last byte of its escape.
func (s *scanner) escape() bool {
	if s.at++; s.at == len(s.text) {
		return false
	}
	if s.text[s.at] != 'u' {
		return strings.IndexByte(`"\/bfnrt`, s.text[s.at]) >= 0
	}
	for range 4 {
		if s.at++; !strings.ContainsRune("0123456789abcdefABCDEF", rune(s.here())) {
			return false
		}
	}
	return true
}

var number = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?`)

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
