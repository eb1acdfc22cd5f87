package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/rankbuffer/rankbuffer/core/buffer"
)

// appendRecord adds a record to a shard: one line of JSON.
func appendRecord(shard *bytes.Buffer, r buffer.Record) error {
	if err := r.Validate(); err != nil {
		return fmt.Errorf("%w: %w", errRecord, err)
	}
	before := shard.Len()
	enc := json.NewEncoder(shard) // ends with a line break; JSON strings hold none
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
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
		if err := strictJSON(line, &r); err != nil {
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

// strictJSON decodes one value with no unknown fields and nothing after it:
// what this version does not know would be lost by the next snapshot.
func strictJSON(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("something follows the JSON value")
	}
	return nil
}
