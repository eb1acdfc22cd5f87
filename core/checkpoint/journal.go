package checkpoint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/rankbuffer/rankbuffer/core/buffer"
	"github.com/rankbuffer/rankbuffer/core/strict"
)

// A journal is a file to which every change of a record is appended as it
// happens. A checkpoint and the journals that follow it hold the whole state. In
// version 1:
//
//	start    16 bytes: tag, version, checksum of both
//	entries  16 bytes (packed size, raw size, checksum of the two, checksum of the
//	         payload), then the payload: a zstd frame of JSON
//
// The first entry holds the meta data. An entry holds a whole record, or what
// differs from the record that this file held of the same query before. An entry
// is written by one call, so a process that dies leaves a torn one at the end at
// most.
const (
	// JournalVersion is the format this program writes, and the newest it reads.
	JournalVersion = 1

	journalTag  = "RBJRNL\r\n"
	journalHead = 16
	entryHead   = 16
)

// Entry is one change of a record.
type Entry struct {
	Step            *int   // training step of the group that made it; nil if it had none
	AfterCheckpoint int    // number of the newest checkpoint saved when that group began; 0 for none
	IdempotencyKey  string // of that group; "" for none
	Record          buffer.Record
	Result          *KeyedResult // what that group came back with; nil: it has no result key, or did not end ok
}

// Journal appends entries to one file. It is safe for concurrent use.
type Journal struct {
	mu     sync.Mutex // protects what follows
	file   *os.File
	enc    *zstd.Encoder
	size   int64                     // of the file, up to the last whole entry
	known  map[string]*buffer.Buffer // what the file holds last, by query id; nil: a buffer not started
	raw    bytes.Buffer
	packed []byte
	broken error // a torn entry could not be cut off
	stats  JournalStats
}

// JournalStats counts what went into a journal.
type JournalStats struct {
	Entries int64  `json:"entries"`
	Bytes   int64  `json:"bytes"`
	Errors  int64  `json:"errors"`
	Last    string `json:"last_error,omitempty"`
}

// CreateJournal makes a new journal. The file must not exist.
func CreateJournal(path string, meta Meta) (*Journal, error) {
	j, err := createJournal(path, meta)
	if err != nil {
		return nil, about(path, err)
	}
	return j, nil
}

func createJournal(path string, meta Meta) (*Journal, error) {
	enc, err := newEncoder()
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o666)
	if err != nil {
		enc.Close()
		if errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("a journal needs a new file, and this one is there already (restore_from reads it): %w", fs.ErrExist)
		}
		return nil, err
	}
	j := &Journal{file: f, enc: enc, known: map[string]*buffer.Buffer{}}
	err = j.write(journalStart(JournalVersion))
	if err == nil {
		err = j.append(metaEntry{Meta: meta})
	}
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		f.Close()
		enc.Close()
		os.Remove(path)
		return nil, err
	}
	j.stats = JournalStats{}
	return j, nil
}

func journalStart(version uint32) []byte {
	b := binary.LittleEndian.AppendUint32([]byte(journalTag), version)
	return binary.LittleEndian.AppendUint32(b, checksum(b))
}

// Append adds one entry. After an error the file is as it was before: what is
// appended later can be read.
func (j *Journal) Append(e Entry) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	err := j.appendEntry(e)
	if err != nil {
		j.stats.Errors++
		j.stats.Last = err.Error()
		delete(j.known, e.Record.Query.ID) // so that the next entry of the query is whole
		return about(j.file.Name(), err)
	}
	j.known[e.Record.Query.ID] = e.Record.Buffer
	j.stats.Entries++
	return nil
}

func (j *Journal) appendEntry(e Entry) error {
	if err := e.Result.validate(); err != nil {
		return fmt.Errorf("%w: %w", errRecord, err)
	}
	out := entryJSON{Step: e.Step, AfterCheckpoint: e.AfterCheckpoint, IdempotencyKey: e.IdempotencyKey, Result: e.Result}
	if old, ok := j.known[e.Record.Query.ID]; ok {
		out.Change = changeOf(old, e.Record)
	} else {
		out.Record = &e.Record
	}
	return j.append(out)
}

// append writes one payload as an entry; the caller holds mu, or owns j.
func (j *Journal) append(payload any) error {
	j.raw.Reset()
	if err := strict.EncodeLine(&j.raw, payload); err != nil {
		return fmt.Errorf("%w: %w", errRecord, err)
	}
	raw := j.raw.Bytes()
	if len(raw) > MaxRecord {
		return fmt.Errorf("%w: its %d bytes as JSON exceed the limit of %d", errRecord, len(raw), MaxRecord)
	}
	j.packed = j.enc.EncodeAll(raw, append(j.packed[:0], make([]byte, entryHead)...))
	binary.LittleEndian.PutUint32(j.packed, uint32(len(j.packed)-entryHead))
	binary.LittleEndian.PutUint32(j.packed[4:], uint32(len(raw)))
	// The sizes have a sum of their own: a damaged one would otherwise look like
	// a torn entry and hide everything behind it.
	binary.LittleEndian.PutUint32(j.packed[8:], checksum(j.packed[:8]))
	binary.LittleEndian.PutUint32(j.packed[12:], checksum(j.packed[entryHead:]))
	return j.write(j.packed)
}

func (j *Journal) write(b []byte) error {
	if j.broken != nil {
		return j.broken
	}
	if _, err := j.file.Write(b); err != nil {
		if cut := j.file.Truncate(j.size); cut != nil {
			j.broken = fmt.Errorf("%w; and cutting the torn entry off: %w", err, cut)
		}
		return err
	}
	j.size += int64(len(b))
	j.stats.Bytes = j.size
	return nil
}

// Stats returns the counts so far.
func (j *Journal) Stats() JournalStats {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.stats
}

// Close makes the journal durable and closes it.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	err := j.file.Sync()
	if closeErr := j.file.Close(); err == nil {
		err = closeErr
	}
	j.enc.Close()
	j.broken = errors.New("the journal is closed")
	if err != nil {
		return about(j.file.Name(), err)
	}
	return nil
}
