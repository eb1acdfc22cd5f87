package strict

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/rankbuffer/rankbuffer/core/fault"
)

// checkText names the member whose text encoding/json would change silently.
func checkText(field string, data []byte) error {
	where, wrong := badText(data)
	if wrong == "" {
		return nil
	}
	return within(field, fault.New(fault.InvalidValue, where, "%s", wrong))
}

// badText finds the first byte that is no UTF-8 and the first escape that is half
// of a surrogate pair: encoding/json would replace both and judge another text
// than was given. It returns where that is, as "field[index]", or "".
func badText(data []byte) (where, what string) {
	if at := invalidAt(data); at >= 0 {
		clean := bytes.Clone(data)
		for i := at; i < len(clean); i++ {
			if clean[i] >= utf8.RuneSelf {
				clean[i] = '?'
			}
		}
		return path(clean, at), fmt.Sprintf("not valid UTF-8 at byte %d", at)
	}
	if at := loneSurrogate(data); at >= 0 {
		return path(data, at), fmt.Sprintf("half of a surrogate pair at byte %d", at)
	}
	return "", ""
}

// invalidAt returns the offset of the first byte that is no UTF-8, -1 if there is
// none.
func invalidAt(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for at := 0; ; {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
}

// loneSurrogate returns the offset of an unpaired surrogate escape, -1 if there
// is none.
func loneSurrogate(data []byte) int {
	for at := bytes.IndexByte(data, '\\'); at >= 0 && at < len(data); {
		unit, size := escape(data[at:])
		switch {
		case 0xd800 <= unit && unit < 0xdc00:
			low, lowSize := escape(data[min(at+size, len(data)):])
			if low < 0xdc00 || low > 0xdfff {
				return at
			}
			size += lowSize
		case 0xdc00 <= unit && unit <= 0xdfff:
			return at
		}
		next := bytes.IndexByte(data[min(at+size, len(data)):], '\\')
		if next < 0 {
			return -1
		}
		at += size + next
	}
	return -1
}

// escape reads \uXXXX at the start of data; other escapes are two bytes and no
// code unit.
func escape(data []byte) (unit uint64, size int) {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return 0, 2
	}
	unit, err := strconv.ParseUint(string(data[2:6]), 16, 16)
	if err != nil {
		return 0, 2
	}
	return unit, 6
}

// path names the member that holds the byte at offset.
func path(data []byte, offset int) string {
	type level struct {
		list bool
		name string
		n    int // of values begun
	}
	var open []level
	dec := json.NewDecoder(bytes.NewReader(data))
	for {
		token, err := dec.Token()
		if err != nil {
			return ""
		}
		var top *level
		if len(open) > 0 {
			top = &open[len(open)-1]
		}
		if token == json.Delim('}') || token == json.Delim(']') {
			open = open[:len(open)-1]
			continue
		}
		name, isName := token.(string)
		isName = isName && top != nil && !top.list && top.n%2 == 0
		if isName {
			top.name = name
		}
		if top != nil {
			top.n++
		}
		if dec.InputOffset() > int64(offset) {
			break
		}
		if token == json.Delim('{') || token == json.Delim('[') {
			open = append(open, level{list: token == json.Delim('[')})
		}
	}
	var where string
	for _, l := range open {
		switch {
		case l.list:
			where += fmt.Sprintf("[%d]", l.n-1)
		case where == "":
			where = l.name
		default:
			where += "." + l.name
		}
	}
	return where
}
