package checkpoint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"testing"
)

// FuzzRead feeds Read any bytes, as they are and with the head repaired to fit
// them, so that a mutation gets past the first checksum. What is accepted must
// be stable: writing and reading it again changes nothing.
func FuzzRead(f *testing.F) {
	golden, err := os.ReadFile("testdata/v1.zst")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden, false)
	f.Add(golden, true)
	f.Add(golden[:len(golden)/2], true)
	f.Add(mustEncode(f, nil), false)
	f.Add([]byte{}, true)
	f.Add(forgeJSON(f, lineA+lineB, `{"meta":{"method":"","created_by":""},"queries":2,"shards":[{"first":"a","queries":2,"size":%d,"raw":%d,"crc":%d}]}`), true)
	f.Fuzz(func(t *testing.T, file []byte, repair bool) {
		if repair && len(file) > headSize {
			file = repaired(file)
		}
		records, err := readAll(file)
		if err != nil {
			if !errors.Is(err, errForeign) && !errors.Is(err, errNewer) && !errors.Is(err, errTruncated) && !errors.Is(err, errDamaged) {
				t.Fatalf("an error of no kind: %v", err)
			}
			return
		}
		again, err := readAll(mustEncode(t, records))
		if err != nil || toJSON(t, again) != toJSON(t, records) {
			t.Fatalf("accepted, but not stable: %v\n%s\n%s", err, toJSON(t, records), toJSON(t, again))
		}
	})
}

// repaired makes the head's size and checksums right for what follows it.
func repaired(file []byte) []byte {
	file = slices.Clone(file)
	h := head{version: Version, size: int64(len(file)), index: int64(binary.LittleEndian.Uint64(file[28:]))}
	if h.index < headSize || h.index > h.size {
		h.index = headSize + h.index&0xff%(h.size-headSize)
	}
	h.indexCRC = checksum(file[h.index:])
	copy(file, h.encode())
	return file
}

// FuzzShard feeds the record parser what the checksums keep away from FuzzRead.
func FuzzShard(f *testing.F) {
	var shard bytes.Buffer
	for _, r := range small() {
		if err := appendRecord(&shard, r); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(shard.Bytes())
	f.Add([]byte(lineA + lineB))
	f.Add([]byte("{}\n"))
	f.Add([]byte("null\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		records, err := parseShard(raw)
		if err != nil {
			return
		}
		var again bytes.Buffer
		for _, r := range records {
			if err := appendRecord(&again, r); err != nil {
				t.Fatalf("read, but cannot be written: %v", err)
			}
		}
		back, err := parseShard(again.Bytes())
		if err != nil || toJSON(t, back) != toJSON(t, records) {
			t.Fatalf("not stable: %v", err)
		}
	})
}
