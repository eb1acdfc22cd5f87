package checkpoint

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/rankbuffer/rankbuffer/core/buffer"
)

// output is what a checkpoint is written to, from its start: appended to, but
// for the head, which comes last because it holds sizes.
type output interface {
	io.Writer
	io.WriterAt
}

func encode(out output, meta Meta, records []buffer.Record) error {
	records = slices.Clone(records)
	slices.SortFunc(records, func(a, b buffer.Record) int { return cmp.Compare(a.Query.ID, b.Query.ID) })
	for i := 1; i < len(records); i++ {
		if id := records[i].Query.ID; id == records[i-1].Query.ID {
			return fmt.Errorf("%w: query_id %q: given twice", errRecord, id)
		}
	}
	enc, err := newEncoder()
	if err != nil {
		return fmt.Errorf("zstd: %w", err)
	}
	defer enc.Close()
	if _, err := out.Write(make([]byte, headSize)); err != nil {
		return err
	}
	x, end, err := encodeShards(out, enc, records)
	if err != nil {
		return err
	}
	x.Meta = meta
	frame, err := x.encode(enc)
	if err != nil {
		return err
	}
	if _, err := out.Write(frame); err != nil {
		return err
	}
	h := head{version: Version, size: end + int64(len(frame)), index: end, indexCRC: checksum(frame)}
	_, err = out.WriteAt(h.encode(), 0)
	return err
}

// encodeShards writes the records behind the head and returns their index and
// the offset at which they end.
func encodeShards(out io.Writer, enc *zstd.Encoder, records []buffer.Record) (index, int64, error) {
	x := index{Queries: len(records), Shards: []shardEntry{}}
	end := int64(headSize)
	var raw bytes.Buffer
	var packed []byte
	first := 0 // record that the shard starts with
	for i, r := range records {
		if err := appendRecord(&raw, r); err != nil {
			return x, 0, err
		}
		if raw.Len() < shardTarget && i < len(records)-1 {
			continue
		}
		packed = enc.EncodeAll(raw.Bytes(), packed[:0])
		if _, err := out.Write(packed); err != nil {
			return x, 0, err
		}
		x.Shards = append(x.Shards, shardEntry{
			First: records[first].Query.ID, Queries: i + 1 - first,
			Size: int64(len(packed)), Raw: int64(raw.Len()), CRC: checksum(packed),
		})
		end += int64(len(packed))
		raw.Reset()
		first = i + 1
	}
	return x, end, nil
}
