package checkpoint

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"github.com/rankbuffer/rankbuffer/core/strict"
)

// index is the table of contents. Shards follow each other without a gap from
// the head on, so that their sizes give their offsets.
type index struct {
	Meta    Meta         `json:"meta"`
	Queries int          `json:"queries"`
	Shards  []shardEntry `json:"shards"`
}

type shardEntry struct {
	First   string `json:"first"` // query id of its first record
	Queries int    `json:"queries"`
	Size    int64  `json:"size"` // bytes in the file
	Raw     int64  `json:"raw"`  // bytes before compression
	CRC     uint32 `json:"crc"`  // of the bytes in the file

	offset int64
}

// encode returns the index frame: the size of the JSON in 4 bytes, then the
// JSON as a zstd frame.
func (x index) encode(enc *zstd.Encoder) ([]byte, error) {
	raw, err := json.Marshal(x)
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	if len(raw) > maxRawIndex {
		return nil, fmt.Errorf("index: %d bytes exceed the limit of %d: too many queries, or their ids are too long", len(raw), maxRawIndex)
	}
	b := skippable(enc.EncodeAll(raw, binary.LittleEndian.AppendUint32(nil, uint32(len(raw)))))
	if len(b) > maxIndex {
		return nil, fmt.Errorf("index: %d compressed bytes exceed the limit of %d: too many queries, or their ids are too long", len(b), maxIndex)
	}
	return b, nil
}

// parseIndex reads an index frame whose checksum is right and holds it against
// the file: end is the offset at which the shards must end.
func parseIndex(frame []byte, end int64, dec *zstd.Decoder) (index, error) {
	var x index
	payload, err := unskippable(frame)
	if err != nil {
		return x, err
	}
	if len(payload) < 4 {
		return x, errors.New("no size")
	}
	raw, err := decompress(dec, payload[4:], int64(binary.LittleEndian.Uint32(payload)), maxRawIndex)
	if err != nil {
		return x, err
	}
	if err := strict.Unmarshal("", raw, &x); err != nil {
		return x, err
	}
	return x, x.check(end)
}

// check fills in the offsets. What the shards hold is checked when they are read.
func (x *index) check(end int64) error {
	offset, queries := int64(headSize), 0
	for i := range x.Shards {
		s := &x.Shards[i]
		switch {
		case s.Size < 1 || s.Size > end-offset:
			return fmt.Errorf("shard %d: size %d leaves the file", i, s.Size)
		case s.Raw < 1 || s.Raw > maxShard:
			return fmt.Errorf("shard %d: raw size %d", i, s.Raw)
		case s.Queries < 1 || int64(s.Queries) > s.Raw:
			return fmt.Errorf("shard %d: %d queries in %d bytes", i, s.Queries, s.Raw)
		case i > 0 && s.First <= x.Shards[i-1].First:
			return fmt.Errorf("shard %d: not in the order of query ids", i)
		}
		s.offset = offset
		offset += s.Size
		queries += s.Queries
	}
	if offset != end {
		return fmt.Errorf("shards end at %d instead of %d", offset, end)
	}
	if queries != x.Queries {
		return fmt.Errorf("%d queries in the shards instead of %d", queries, x.Queries)
	}
	return nil
}
