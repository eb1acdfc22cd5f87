package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/klauspost/compress/zstd"

	"github.com/rankbuffer/rankbuffer/core/buffer"
)

// reader reads a checkpoint piece by piece. It is not safe for concurrent use.
type reader struct {
	src   io.ReaderAt
	head  head
	index index
	dec   *zstd.Decoder
}

// newReader reads and checks the head and the index of a checkpoint of size
// bytes. close releases what it holds, but not src.
func newReader(src io.ReaderAt, size int64) (*reader, error) {
	start, err := readAt(src, 0, min(size, headSize))
	if err != nil {
		return nil, err
	}
	h, err := parseHead(start, size)
	if err != nil {
		return nil, err
	}
	frame, err := readAt(src, h.index, h.size-h.index)
	if err != nil {
		return nil, err
	}
	if checksum(frame) != h.indexCRC {
		return nil, fmt.Errorf("%w: checksum of the index", errDamaged)
	}
	dec, err := newDecoder()
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	x, err := parseIndex(frame, h.index, dec)
	if err != nil {
		dec.Close()
		return nil, fmt.Errorf("%w: index: %w", errDamaged, err)
	}
	return &reader{src: src, head: h, index: x, dec: dec}, nil
}

// close releases the decoder. The reader cannot be used afterwards.
func (r *reader) close() { r.dec.Close() }

// all returns every record, sorted by query id.
func (r *reader) all() ([]buffer.Record, error) {
	var all []buffer.Record
	for i := range r.index.Shards {
		records, err := r.shard(i)
		if err != nil {
			return nil, err
		}
		all = append(all, records...)
	}
	return all, nil
}

// one returns the record of a query and reads its shard alone.
func (r *reader) one(queryID string) (buffer.Record, error) {
	shards := r.index.Shards
	i := sort.Search(len(shards), func(i int) bool { return shards[i].First > queryID }) - 1
	if i >= 0 {
		records, err := r.shard(i)
		if err != nil {
			return buffer.Record{}, err
		}
		for _, record := range records {
			if record.Query.ID == queryID {
				return record, nil
			}
		}
	}
	return buffer.Record{}, fmt.Errorf("%w: query_id %q", errNotFound, queryID)
}

// shard reads, checks and decodes one shard.
func (r *reader) shard(i int) ([]buffer.Record, error) {
	s := r.index.Shards[i]
	packed, err := readAt(r.src, s.offset, s.Size)
	if err != nil {
		return nil, err
	}
	if checksum(packed) != s.CRC {
		return nil, fmt.Errorf("%w: checksum of shard %d", errDamaged, i)
	}
	raw, err := decompress(r.dec, packed, s.Raw, maxShard)
	if err != nil {
		return nil, fmt.Errorf("%w: shard %d: %w", errDamaged, i, err)
	}
	records, err := parseShard(raw)
	if err == nil {
		err = r.checkOrder(i, records)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: shard %d: %w", errDamaged, i, err)
	}
	return records, nil
}

// checkOrder holds the records of a shard against the index, so that one finds
// exactly what all returns.
func (r *reader) checkOrder(i int, records []buffer.Record) error {
	s := r.index.Shards[i]
	if len(records) != s.Queries {
		return fmt.Errorf("%d records instead of %d", len(records), s.Queries)
	}
	if records[0].Query.ID != s.First {
		return fmt.Errorf("starts with query_id %q instead of %q", records[0].Query.ID, s.First)
	}
	for j := 1; j < len(records); j++ {
		if records[j].Query.ID <= records[j-1].Query.ID {
			return errors.New("not in the order of query ids")
		}
	}
	if last := records[len(records)-1].Query.ID; i+1 < len(r.index.Shards) && last >= r.index.Shards[i+1].First {
		return errors.New("overlaps the next shard")
	}
	return nil
}

// readAt reads exactly n bytes, which the size of the file says are there.
func readAt(src io.ReaderAt, offset, n int64) ([]byte, error) {
	b := make([]byte, n)
	got, err := src.ReadAt(b, offset)
	if int64(got) == n {
		return b, nil // io.EOF is allowed at the very end
	}
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: it became shorter while being read", errTruncated)
	}
	return nil, err
}
