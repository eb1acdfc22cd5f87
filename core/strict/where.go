package strict

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"github.com/rankbuffer/rankbuffer/core/fault"
)

// checkText names the member whose text encoding/json would change silently. It
// would replace bytes that are not UTF-8 and halves of surrogate pairs, and a judge
// would see another text than was given.
func checkText(field string, data []byte) error {
	at, what := invalidAt(data), "not valid UTF-8"
	if at < 0 {
		at, what = loneSurrogate(data), "half of a surrogate pair"
	}
	if at < 0 {
		return nil
	}
	wrong := fault.New(fault.InvalidValue, "", "%s at byte %d", what, at)
	if !json.Valid(data) { // the walk below trusts the document's shape and depth
		return within(field, wrong)
	}
	w := walker{scanner: scanner{data: data}, stop: at + 1, wrong: wrong}
	w.space()
	if err := w.walk(nil); err != nil {
		return within(field, err)
	}
	return within(field, wrong) // not within a member
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
