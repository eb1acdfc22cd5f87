package checkpoint

import (
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// Limits of what is read, and therefore written. They bound what a hostile file
// can make a reader allocate at a time.
const (
	// MaxRecord is the largest record, as JSON, in bytes.
	MaxRecord = 256 << 20

	shardTarget = 64 << 10                // raw bytes that fill a shard
	maxShard    = MaxRecord + shardTarget // raw: a shard may be all but full when the largest record comes
	maxIndex    = 64 << 20                // bytes in the file
	maxRawIndex = 256 << 20

	// zstd's best case: a block of 4 bytes that repeats one byte 128 Ki times.
	blockMin, blockMax = 4, 128 << 10
)

// newEncoder makes an encoder whose output depends on its input alone: one
// goroutine, and the caller's. Fastest, since snapshots are taken while scoring
// goes on; the default level would save another tenth.
func newEncoder() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
}

// newDecoder makes a decoder that fills what it is given and never grows it.
func newDecoder() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxShard), zstd.WithDecodeAllCapLimit(true))
}

// decompress returns the content of a frame that is said to hold raw bytes. A
// claim beyond limit, or beyond what frame could possibly hold, is refused
// before anything is allocated for it.
func decompress(d *zstd.Decoder, frame []byte, raw, limit int64) ([]byte, error) {
	if raw < 0 || raw > limit || raw > int64(len(frame))/blockMin*blockMax {
		return nil, fmt.Errorf("%d bytes cannot hold %d", len(frame), raw)
	}
	out, err := d.DecodeAll(frame, make([]byte, 0, raw))
	if err != nil {
		return nil, err
	}
	if int64(len(out)) != raw {
		return nil, fmt.Errorf("holds %d bytes instead of %d", len(out), raw)
	}
	return out, nil
}

// skippable wraps a payload in a frame that other zstd programs skip.
func skippable(payload []byte) []byte {
	b := make([]byte, 0, skippableSize+len(payload))
	b = binary.LittleEndian.AppendUint32(b, skippableMagic)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(payload)))
	return append(b, payload...)
}

// unskippable returns the payload of a frame that skippable made.
func unskippable(b []byte) ([]byte, error) {
	if len(b) < skippableSize || binary.LittleEndian.Uint32(b) != skippableMagic || int64(binary.LittleEndian.Uint32(b[4:])) != int64(len(b)-skippableSize) {
		return nil, fmt.Errorf("not a skippable frame of %d bytes", len(b))
	}
	return b[skippableSize:], nil
}
