// Package checkpoint saves all query records in one file and reads them back,
// whole or one query at a time.
//
// A checkpoint is a stream of zstd frames, so that `zstd -dc FILE` prints its
// records as JSON lines without this program. In version 1, in this order:
//
//	head     44 bytes, a skippable frame that a reader of any version understands:
//	         magic, tag, version, size of the file, offset and checksum of the index
//	shards   zstd frames of whole records, one JSON object a line, sorted by query
//	         id; a shard ends with the record that fills 64 KB
//	index    a skippable frame that holds one zstd frame: JSON with the meta data
//	         and each shard's first query id, sizes and checksum
//
// Every byte is under a CRC-32C: the head under its own, the index under the
// head's, the shards under the index's. They are checked before anything is
// decompressed, and no size is believed beyond what the bytes present can hold.
// Integers are little-endian. Equal meta data and records give equal bytes.
package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/rankbuffer/rankbuffer/core/buffer"
	"github.com/rankbuffer/rankbuffer/core/fault"
)

// Version is the format this program writes, and the newest it reads.
const Version = 1

// What can be wrong with a file or a record. Every error of this package is a
// *fault.Error that names the file; fault.FileError is what the system reports.
var (
	errForeign   = fault.New(fault.CheckpointForeign, "", "not a RankBuffer file")
	errNewer     = fault.New(fault.CheckpointNewer, "", "written by a newer version of RankBuffer")
	errTruncated = fault.New(fault.CheckpointDamaged, "", "the file is truncated")
	errDamaged   = fault.New(fault.CheckpointDamaged, "", "the file is damaged")
	errNotFound  = fault.New(fault.UnknownQuery, "", "the query is not in the file")
	errRecord    = fault.New(fault.FileError, "", "the record cannot be saved")
)

// about names the file in an error.
func about(path string, err error) error {
	code := fault.FileError
	if known := new(fault.Error); errors.As(err, &known) {
		code = known.Code
	}
	if system := new(fs.PathError); errors.As(err, &system) && system.Path == path {
		err = fmt.Errorf("%s: %w", system.Op, system.Err) // whose text has the path already
	}
	return fault.InFile(code, path, err)
}

// Meta says what a checkpoint belongs to.
type Meta struct {
	Method    string `json:"method"`     // registry name of the reward method
	CreatedBy string `json:"created_by"` // version of the program that wrote it
}

// Info describes a checkpoint without its records.
type Info struct {
	Version  int   `json:"version"`
	Meta     Meta  `json:"meta"`
	Queries  int   `json:"queries"`
	Shards   int   `json:"shards"`
	Bytes    int64 `json:"bytes"`     // size of the file
	RawBytes int64 `json:"raw_bytes"` // size of the records before compression
}

// Write saves the records at path, in any order of theirs, in place of what was
// there. The file appears whole or not at all: it is written beside its final
// place, synced and renamed; on any error the old file is left as it was.
// Records must be valid (buffer.Record.Validate), of distinct queries, and no
// larger than MaxRecord as JSON: errRecord.
func Write(path string, meta Meta, records []buffer.Record) error {
	err := replaceFile(path, func(f *os.File) error { return encode(f, meta, records) })
	if err != nil {
		return about(path, err)
	}
	return nil
}

// Read returns every record, sorted by query id. Errors: errForeign, errNewer,
// errTruncated, errDamaged, or the file system's; nothing is returned then.
func Read(path string) (Meta, []buffer.Record, error) {
	var meta Meta
	var records []buffer.Record
	err := withFile(path, func(r *Reader) error {
		meta = r.Info().Meta
		for record, err := range r.Records() {
			if err != nil {
				return err
			}
			records = append(records, record)
		}
		return nil
	})
	if err != nil {
		return Meta{}, nil, err
	}
	return meta, records, nil
}

// ReadOne returns the record of one query and reads no shard but the one it is
// in. Errors: errNotFound, or those of Read.
func ReadOne(path, queryID string) (buffer.Record, error) {
	var record buffer.Record
	err := withFile(path, func(r *Reader) (err error) {
		record, err = r.One(queryID)
		return err
	})
	return record, err
}

// Stat describes a checkpoint. It checks the head and the index but reads no
// shard. Errors: those of Read.
func Stat(path string) (Info, error) {
	var info Info
	err := withFile(path, func(r *Reader) error {
		info = r.Info()
		return nil
	})
	return info, err
}

// List returns the ids of all queries, sorted. It reads the whole file and
// holds one shard at a time. Errors: those of Read.
func List(path string) ([]string, error) {
	var ids []string
	err := withFile(path, func(r *Reader) error {
		for record, err := range r.Records() {
			if err != nil {
				return err
			}
			ids = append(ids, record.Query.ID)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return ids, nil
}

func withFile(path string, use func(*Reader) error) error {
	if err := readFile(path, use); err != nil {
		return about(path, err)
	}
	return nil
}

func readFile(path string, use func(*Reader) error) error {
	stat, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !stat.Mode().IsRegular() { // opening a pipe would wait for a writer
		return fmt.Errorf("%w: not a regular file", errForeign)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if stat, err = f.Stat(); err != nil { // of what was opened, should it have been replaced in between
		return err
	}
	r, err := NewReader(f, stat.Size())
	if err != nil {
		return err
	}
	defer r.Close()
	return use(r)
}
