package checkpoint

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"

	"github.com/rankbuffer/rankbuffer/core/buffer"
	"github.com/rankbuffer/rankbuffer/core/strict"
)

// ReadJournal hands every entry of a journal to use, in order, with its record
// whole, and stops at the first error of use. A torn entry at the end, which a
// process that died while writing leaves, is no error: torn reports it, and meta
// is empty if nothing whole is there.
func ReadJournal(path string, use func(Entry) error) (meta Meta, torn bool, err error) {
	err = withRegular(path, func(f *os.File, size int64) (err error) {
		meta, torn, err = readJournal(f, size, use)
		return err
	})
	if err != nil {
		return Meta{}, false, about(path, err)
	}
	return meta, torn, nil
}

func readJournal(f io.Reader, size int64, use func(Entry) error) (meta Meta, torn bool, err error) {
	dec, err := newDecoder()
	if err != nil {
		return meta, false, fmt.Errorf("zstd: %w", err)
	}
	defer dec.Close()
	r := &replay{src: bufio.NewReaderSize(f, 64<<10), left: size, dec: dec, records: map[string]buffer.Record{}}
	if torn, err := r.start(); torn || err != nil {
		return meta, torn, err
	}
	return r.run(use)
}

// replay reads a journal from its start to its end.
type replay struct {
	src     io.Reader
	left    int64 // bytes not read yet
	dec     *zstd.Decoder
	records map[string]buffer.Record // what the file has held so far, by query id
}

// start reads the file's first bytes. A file shorter than them was made by a
// process that died at once.
func (r *replay) start() (torn bool, err error) {
	b := make([]byte, min(r.left, journalHead))
	if err := r.read(b); err != nil {
		return false, err
	}
	switch {
	case len(b) < journalHead:
		if !bytes.HasPrefix(journalStart(JournalVersion), b) {
			return false, fmt.Errorf("%w: not a journal", errForeign)
		}
		return true, nil
	case string(b[:len(journalTag)]) != journalTag:
		return false, fmt.Errorf("%w: not a journal", errForeign)
	case checksum(b[:12]) != binary.LittleEndian.Uint32(b[12:]):
		return false, fmt.Errorf("%w: checksum of the start", errDamaged)
	}
	switch v := binary.LittleEndian.Uint32(b[8:]); {
	case v > JournalVersion:
		return false, fmt.Errorf("%w: version %d, this program reads up to %d", errNewer, v, JournalVersion)
	case v < 1:
		return false, fmt.Errorf("%w: version %d does not exist", errDamaged, v)
	}
	return false, nil
}

func (r *replay) run(use func(Entry) error) (meta Meta, torn bool, err error) {
	for n := 0; ; n++ {
		raw, torn, err := r.next()
		if err != nil {
			return meta, false, fmt.Errorf("entry %d: %w", n, err)
		}
		if raw == nil {
			return meta, torn || n == 0, nil // n == 0: its writer died before the meta data
		}
		if n == 0 {
			var m metaEntry
			if err := strict.Unmarshal("", raw, &m); err != nil {
				return meta, false, fmt.Errorf("%w: entry 0: %w", errDamaged, err)
			}
			meta = m.Meta
			continue
		}
		e, err := r.entry(raw)
		if err != nil {
			return meta, false, fmt.Errorf("%w: entry %d: %w", errDamaged, n, err)
		}
		if err := use(e); err != nil {
			return meta, false, err
		}
	}
}

// next returns the next payload, nil at the end.
func (r *replay) next() (raw []byte, torn bool, err error) {
	if r.left < entryHead {
		return nil, r.left > 0, nil
	}
	head := make([]byte, entryHead)
	if err := r.read(head); err != nil {
		return nil, false, err
	}
	if checksum(head[:8]) != binary.LittleEndian.Uint32(head[8:]) {
		zero, err := r.restIsZero(head) // which a crashed disk may leave
		if err != nil || zero {
			return nil, zero, err
		}
		return nil, false, fmt.Errorf("%w: checksum of the sizes", errDamaged)
	}
	size := int64(binary.LittleEndian.Uint32(head))
	if size > r.left {
		return nil, true, nil
	}
	payload := make([]byte, size)
	if err := r.read(payload); err != nil {
		return nil, false, err
	}
	if checksum(payload) != binary.LittleEndian.Uint32(head[12:]) {
		if r.left == 0 { // the last one, half written
			return nil, true, nil
		}
		return nil, false, fmt.Errorf("%w: checksum", errDamaged)
	}
	raw, err = decompress(r.dec, payload, int64(binary.LittleEndian.Uint32(head[4:])), MaxRecord)
	if err != nil {
		return nil, false, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return raw, false, nil
}

// restIsZero reads to the end and reports whether that and head are zeros.
func (r *replay) restIsZero(head []byte) (bool, error) {
	for chunk := head; ; {
		if bytes.ContainsFunc(chunk, func(c rune) bool { return c != 0 }) {
			return false, nil
		}
		if r.left == 0 {
			return true, nil
		}
		chunk = make([]byte, min(r.left, 64<<10))
		if err := r.read(chunk); err != nil {
			return false, err
		}
	}
}

// entry decodes a payload and makes its record whole.
func (r *replay) entry(raw []byte) (Entry, error) {
	var in entryJSON
	if err := strict.Unmarshal("", raw, &in); err != nil {
		return Entry{}, err
	}
	e := Entry{Step: in.Step, AfterCheckpoint: in.AfterCheckpoint, IdempotencyKey: in.IdempotencyKey, Result: in.Result}
	if err := in.Result.validate(); err != nil {
		return e, err
	}
	switch {
	case (in.Record == nil) == (in.Change == nil):
		return e, errors.New("must hold either a record or a change")
	case in.Record != nil:
		if err := in.Record.Validate(); err != nil {
			return e, err
		}
		e.Record = *in.Record
	default:
		old, ok := r.records[in.Change.QueryID]
		if !ok {
			return e, fmt.Errorf("changes query_id %q, which came in no entry before", in.Change.QueryID)
		}
		record, err := in.Change.apply(old)
		if err != nil {
			return e, err
		}
		e.Record = record
	}
	r.records[e.Record.Query.ID] = e.Record
	return e, nil
}

func (r *replay) read(b []byte) error {
	n, err := io.ReadFull(r.src, b)
	r.left -= int64(n)
	if err != nil {
		return fmt.Errorf("%w: it became shorter while being read", errTruncated)
	}
	return nil
}
