package checkpoint

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// The head. Its layout is the same in every version, so that an old program can
// tell a newer file from a damaged one.
const (
	headSize = 44

	skippableMagic = 0x184D2A5B // of a zstd frame that other programs skip
	skippableSize  = 8          // magic and length
)

// headStart begins every checkpoint: a skippable frame's header and the tag. The
// line ends in it show up a transfer as text.
var headStart = []byte("\x5b\x2a\x4d\x18" + "\x24\x00\x00\x00" + "RBCKPT\r\n")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(data []byte) uint32 { return crc32.Checksum(data, castagnoli) }

// head is what is needed to find and check the rest of the file.
type head struct {
	version  uint32
	size     int64 // of the file
	index    int64 // offset of the index frame, which reaches to the end of the file
	indexCRC uint32
}

func (h head) encode() []byte {
	b := append([]byte{}, headStart...)
	b = binary.LittleEndian.AppendUint32(b, h.version)
	b = binary.LittleEndian.AppendUint64(b, uint64(h.size))
	b = binary.LittleEndian.AppendUint64(b, uint64(h.index))
	b = binary.LittleEndian.AppendUint32(b, h.indexCRC)
	return binary.LittleEndian.AppendUint32(b, checksum(b))
}

// parseHead reads the first bytes, headSize or all there are, of a file of the
// given size.
func parseHead(b []byte, size int64) (head, error) {
	if n := min(len(b), len(headStart)); !bytes.Equal(b[:n], headStart[:n]) {
		return head{}, fmt.Errorf("%w (or its first bytes are damaged)", errForeign)
	}
	if len(b) < headSize {
		return head{}, fmt.Errorf("%w: %d bytes are not even a head", errTruncated, size)
	}
	rest := b[len(headStart):]
	h := head{
		version:  binary.LittleEndian.Uint32(rest),
		size:     int64(binary.LittleEndian.Uint64(rest[4:])),
		index:    int64(binary.LittleEndian.Uint64(rest[12:])),
		indexCRC: binary.LittleEndian.Uint32(rest[20:]),
	}
	if got, want := checksum(b[:headSize-4]), binary.LittleEndian.Uint32(rest[24:]); got != want {
		return head{}, fmt.Errorf("%w: checksum of the head", errDamaged)
	}
	switch {
	case h.version > Version:
		return head{}, fmt.Errorf("%w: format %d, this program reads up to %d: upgrade it to read this file", errNewer, h.version, Version)
	case h.version < 1:
		return head{}, fmt.Errorf("%w: format %d does not exist", errDamaged, h.version)
	case size < h.size:
		return head{}, fmt.Errorf("%w: %d of %d bytes are there", errTruncated, size, h.size)
	case size > h.size:
		return head{}, fmt.Errorf("%w: %d bytes were added to its %d", errDamaged, size-h.size, h.size)
	case h.index < headSize || h.index > h.size-skippableSize || h.size-h.index > maxIndex:
		return head{}, fmt.Errorf("%w: the index cannot be at %d of %d bytes", errDamaged, h.index, h.size)
	}
	return h, nil
}
