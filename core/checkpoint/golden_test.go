package checkpoint

import (
	"bytes"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
)

var newGolden = flag.Bool("new-golden", false, "write the golden file of the current version, once, before it is released")

// Files of every released version must stay readable: testdata/vN.zst and what
// it holds, testdata/vN.jsonl (the output of zstd -dc). Compressed bytes may differ between releases of
// the zstd library, so writing is not held against them.
func TestGolden(t *testing.T) {
	if *newGolden {
		writeGolden(t)
	}
	for _, version := range []string{"v1"} {
		m, records, err := Read("testdata/" + version + ".zst")
		if err != nil {
			t.Errorf("%s: %v", version, err)
			continue
		}
		if m != meta {
			t.Errorf("%s: meta %+v, want %+v", version, m, meta)
		}
		want, err := os.ReadFile("testdata/" + version + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		lines := slices.Collect(strings.Lines(string(want)))
		if len(lines) != len(records) {
			t.Fatalf("%s: %d records, want %d", version, len(records), len(lines))
		}
		for i, record := range records {
			var got bytes.Buffer
			if err := appendRecord(&got, record); err != nil || got.String() != lines[i] {
				t.Errorf("%s: record %d: %v\ngot  %swant %s", version, i, err, got.String(), lines[i])
			}
		}
	}
}

func writeGolden(t *testing.T) {
	t.Helper()
	const path = "testdata/v1"
	if err := Write(path+".zst", meta, small()); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	for _, r := range small() {
		if err := appendRecord(&text, r); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path+".jsonl", text.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The head is the promise to programs of every version: byte by byte.
func TestHeadLayout(t *testing.T) {
	got := head{version: 0x04030201, size: 0x0c0b0a0908070605, index: 0x14131211100f0e0d, indexCRC: 0x18171615}.encode()
	want := []byte("\x5b\x2a\x4d\x18\x24\x00\x00\x00RBCKPT\r\n" +
		"\x01\x02\x03\x04" + "\x05\x06\x07\x08\x09\x0a\x0b\x0c" + "\x0d\x0e\x0f\x10\x11\x12\x13\x14" + "\x15\x16\x17\x18")
	if !bytes.Equal(got[:headSize-4], want) || len(got) != headSize {
		t.Errorf("got  % x\nwant % x and a checksum", got, want)
	}
	if got := checksum([]byte("123456789")); got != 0xe3069283 { // CRC-32C's check value
		t.Errorf("checksum is %#x, not CRC-32C", got)
	}
}
