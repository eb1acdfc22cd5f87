package checkpoint

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/rankbuffer/rankbuffer/core/buffer"
	"github.com/rankbuffer/rankbuffer/core/strict"
)

// appendRecord adds a record to a shard: one line of JSON.
func appendRecord(shard *bytes.Buffer, r buffer.Record) error {
	if err := r.Validate(); err != nil {
		return fmt.Errorf("%w: %w", errRecord, err)
	}
	before := shard.Len()
	if err := strict.EncodeLine(shard, r); err != nil { // JSON strings hold no line break
		return fmt.Errorf("%w: query_id %q: %w", errRecord, r.Query.ID, err)
	}
	if n := shard.Len() - before; n > MaxRecord {
		return fmt.Errorf("%w: query_id %q: its %d bytes as JSON exceed the limit of %d", errRecord, r.Query.ID, n, MaxRecord)
	}
	return nil
}

// parseShard returns the records of a shard.
func parseShard(shard []byte) ([]buffer.Record, error) {
	var records []buffer.Record
	for len(shard) > 0 {
		line, rest, whole := bytes.Cut(shard, []byte("\n"))
		if !whole {
			return nil, errors.New("the last record has no end")
		}
		var r buffer.Record
		if err := strict.Unmarshal("", line, &r); err != nil {
			return nil, fmt.Errorf("record %d: %w", len(records), err)
		}
		if err := r.Validate(); err != nil {
			return nil, fmt.Errorf("record %d: %w", len(records), err)
		}
		records = append(records, r)
		shard = rest
	}
	return records, nil
}
