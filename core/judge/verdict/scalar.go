package verdict

import "strings"

// scanString reads the JSON string that starts at text[i] and returns the offset
// after it, or the offset of what breaks it.
func scanString(text string, i int) (end int, ok bool) {
	for i++; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return i + 1, true
		case c < ' ':
			return i, false
		case c == '\\':
			if i++; i == len(text) {
				return i, false
			}
			if text[i] == 'u' {
				for range 4 {
					if i++; i == len(text) || !isHex(text[i]) {
						return i, false
					}
				}
			} else if strings.IndexByte(`"\/bfnrt`, text[i]) < 0 {
				return i, false
			}
		}
	}
	return i, false
}

// scanScalar does the same for a string, number, true, false or null.
func scanScalar(text string, i int) (end int, ok bool) {
	switch c := text[i]; {
	case c == '"':
		return scanString(text, i)
	case c == '-' || isDigit(c):
		return scanNumber(text, i)
	}
	for _, word := range []string{"true", "false", "null"} {
		if strings.HasPrefix(text[i:], word) {
			return i + len(word), true
		}
	}
	return i, false
}

// scanNumber follows the grammar of RFC 8259, section 6.
func scanNumber(text string, i int) (end int, ok bool) {
	if text[i] == '-' {
		i++
	}
	if i < len(text) && text[i] == '0' {
		i++
	} else if i, ok = scanDigits(text, i); !ok {
		return i, false
	}
	if i < len(text) && text[i] == '.' {
		if i, ok = scanDigits(text, i+1); !ok {
			return i, false
		}
	}
	if i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		if i++; i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		return scanDigits(text, i)
	}
	return i, true
}

// scanDigits reads one digit or more.
func scanDigits(text string, i int) (end int, ok bool) {
	start := i
	for i < len(text) && isDigit(text[i]) {
		i++
	}
	return i, i > start
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}
