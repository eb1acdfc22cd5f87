package sim

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/rankbuffer/rankbuffer/core/prompt"
)

// A judge's request is a few small fields and tens of kilobytes of message text,
// of which encoding/json reads every byte several times. decodeChat lifts the
// messages out in one pass when they are as every client writes them (objects of
// a role and a text) and leaves the rest, and whatever is out of the ordinary,
// to encoding/json. A fuzzer holds both ways to the same result.

func decodeChat(body []byte) (chatRequest, error) {
	if chat, ok := decodePlain(body); ok {
		return chat, nil
	}
	return decodeAny(body)
}

// chatRequestParts is a request whose contents may be lists of parts.
type chatRequestParts struct {
	chatRequest
	Messages []struct {
		Role    string  `json:"role"`
		Content content `json:"content"`
	} `json:"messages"`
}

func decodeAny(body []byte) (chatRequest, error) {
	var parts chatRequestParts
	if err := json.Unmarshal(body, &parts); err != nil {
		return chatRequest{}, err
	}
	chat := parts.chatRequest
	for _, m := range parts.Messages {
		chat.Messages = append(chat.Messages, prompt.Message{Role: m.Role, Content: string(m.Content)})
	}
	return chat, nil
}

// decodePlain decodes the common form of a request; ok is false for any other,
// broken ones included.
func decodePlain(body []byte) (chat chatRequest, ok bool) {
	r := &reader{data: body}
	var messages []prompt.Message
	rest := []byte("{")
	r.object(func(key string) {
		if key == "messages" && messages == nil {
			messages = r.messages()
			return
		}
		if key == "messages" {
			r.failed = true
			return
		}
		name, _ := json.Marshal(key) // strings always encode
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		rest = append(append(append(rest, name...), ':'), r.raw()...)
	})
	if r.failed || r.space() != 0 || r.at != len(body) || messages == nil {
		return chatRequest{}, false
	}
	if json.Unmarshal(append(rest, '}'), &chat) != nil || chat.Messages != nil { // messages by another spelling
		return chatRequest{}, false
	}
	chat.Messages = messages
	return chat, true
}

// reader walks over JSON text. It checks only as much as it must to tell where
// things end, sets failed at anything else, and then stands still.
type reader struct {
	data   []byte
	at     int
	failed bool
}

// space skips white space and returns the next byte, 0 at the end.
func (r *reader) space() byte {
	for ; r.at < len(r.data); r.at++ {
		if c := r.data[r.at]; c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c
		}
	}
	return 0
}

// take skips white space and the byte c, and fails if that is not next.
func (r *reader) take(c byte) {
	if r.failed || r.space() != c {
		r.failed = true
		return
	}
	r.at++
}

// each reads items separated by commas up to the byte end.
func (r *reader) each(end byte, item func()) {
	if r.space() == end {
		r.at++
		return
	}
	for !r.failed {
		item()
		if !r.failed && r.space() == end {
			r.at++
			return
		}
		r.take(',')
	}
}

// object reads an object, calling value at each member's value.
func (r *reader) object(value func(key string)) {
	r.take('{')
	r.each('}', func() {
		key := r.text()
		if r.take(':'); !r.failed {
			value(key)
		}
	})
}

func (r *reader) messages() []prompt.Message {
	all := []prompt.Message{}
	r.take('[')
	r.each(']', func() {
		var m prompt.Message
		given := map[string]bool{}
		r.object(func(key string) {
			if given[key] {
				r.failed = true
			}
			switch given[key] = true; key {
			case "role":
				m.Role = r.text()
			case "content":
				m.Content = r.text()
			default:
				r.failed = true
			}
		})
		all = append(all, m)
	})
	return all
}

// raw returns the next value as it stands; its syntax is left to whoever reads it.
func (r *reader) raw() []byte {
	r.space()
	start := r.at
	for depth := 0; r.at < len(r.data) && !r.failed; {
		switch c := r.data[r.at]; c {
		case '"':
			r.text()
			continue
		case '{', '[':
			depth++
		case '}', ']', ',':
			if depth == 0 {
				return r.data[start:r.at]
			}
			if c != ',' {
				depth--
			}
		}
		r.at++
	}
	r.failed = true
	return nil
}

// text reads a string.
func (r *reader) text() string {
	r.take('"')
	if r.failed {
		return ""
	}
	start := r.at
	var b strings.Builder // holds what precedes start, once there was an escape
	for ; r.at < len(r.data); r.at++ {
		switch c := r.data[r.at]; {
		case c == '"':
			chunk := r.data[start:r.at]
			r.at++
			if r.failed = !utf8.Valid(chunk); b.Len() == 0 {
				return string(chunk)
			}
			b.Write(chunk)
			return b.String()
		case c < ' ':
			r.failed = true
			return ""
		case c == '\\':
			if b.Len() == 0 {
				b.Grow(r.untilQuote() + r.at - start)
			}
			b.Write(r.data[start:r.at])
			if r.failed = !utf8.Valid(r.data[start:r.at]); r.failed {
				return ""
			}
			r.escape(&b)
			if r.failed {
				return ""
			}
			start = r.at + 1
		}
	}
	r.failed = true
	return ""
}

// untilQuote is how far away the next quote is, which ends the string at hand
// unless it is escaped: a hint for reserving room that no text can inflate.
func (r *reader) untilQuote() int {
	return max(0, bytes.IndexByte(r.data[min(r.at+2, len(r.data)):], '"'))
}

// escape reads the escape whose backslash is next and stops at its last byte.
func (r *reader) escape(b *strings.Builder) {
	const short, meaning = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	if r.at++; r.at >= len(r.data) {
		r.failed = true
		return
	}
	if i := strings.IndexByte(short, r.data[r.at]); i >= 0 {
		b.WriteByte(meaning[i])
		return
	}
	// \uXXXX, alone or a surrogate pair: left to encoding/json, with the pair whole.
	start, n := r.at-1, 6
	if next := r.data[start:]; len(next) >= 12 && next[6] == '\\' && next[7] == 'u' && (next[2]|0x20) == 'd' {
		n = 12
	}
	var decoded string
	if start+n > len(r.data) || json.Unmarshal([]byte(`"`+string(r.data[start:start+n])+`"`), &decoded) != nil {
		r.failed = true
		return
	}
	b.WriteString(decoded)
	r.at = start + n - 1
}
