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

// Read returns every record, sorted by query id. On an error it returns nothing.
func Read(path string) (Meta, []buffer.Record, error) {
	var meta Meta
	var records []buffer.Record
	err := withFile(path, func(r *reader) (err error) {
		meta = r.index.Meta
		records, err = r.all()
		return err
	})
	if err != nil {
		return Meta{}, nil, err
	}
	return meta, records, nil
}

// ReadOne returns the record of one query and reads no shard but the one it is
// in.
func ReadOne(path, queryID string) (buffer.Record, error) {
	var record buffer.Record
	err := withFile(path, func(r *reader) (err error) {
		record, err = r.one(queryID)
		return err
	})
	return record, err
}

func withFile(path string, use func(*reader) error) error {
	err := withRegular(path, func(f *os.File, size int64) error {
		r, err := newReader(f, size)
		if err != nil {
			return err
		}
		defer r.close()
		return use(r)
	})
	if err != nil {
		return about(path, err)
	}
	return nil
}
