package checkpoint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/rankbuffer/rankbuffer/core/buffer"
)

func TestTruncatedAnywhere(t *testing.T) {
	file := mustEncode(t, small())
	for n := range file {
		if _, err := readAll(file[:n]); !errors.Is(err, errTruncated) {
			t.Errorf("first %d of %d bytes: got %v, want errTruncated", n, len(file), err)
		}
	}
}

func TestEveryBitFlip(t *testing.T) {
	file := mustEncode(t, small())
	for i := range file {
		want := errDamaged
		if i < len(headStart) {
			want = errForeign
		}
		for bit := range 8 {
			flipped := slices.Clone(file)
			flipped[i] ^= 1 << bit
			if _, err := readAll(flipped); !errors.Is(err, want) {
				t.Errorf("byte %d bit %d: got %v, want %v", i, bit, err, want)
			}
		}
	}
}

// edit changes a head so that its own checksum is right again.
func edit(file []byte, change func(h []byte)) []byte {
	file = slices.Clone(file)
	change(file)
	binary.LittleEndian.PutUint32(file[headSize-4:], checksum(file[:headSize-4]))
	return file
}

func TestRefused(t *testing.T) {
	good := mustEncode(t, small())
	plain, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	version := func(v uint32) []byte {
		return edit(good, func(h []byte) { binary.LittleEndian.PutUint32(h[16:], v) })
	}
	indexAt := func(at uint64) []byte {
		return edit(good, func(h []byte) { binary.LittleEndian.PutUint64(h[28:], at) })
	}
	for _, c := range []struct {
		name string
		file []byte
		want error
		text string
	}{
		{"empty", nil, errTruncated, "0 bytes"},
		{"text", []byte("{\"query_id\": 1}\n"), errForeign, ""},
		{"other zstd", plain.EncodeAll([]byte("hello hello hello"), nil), errForeign, ""},
		{"other skippable frame", append([]byte("\x5b\x2a\x4d\x18\x24\x00\x00\x00"), make([]byte, 100)...), errForeign, ""},
		{"went through text mode", bytes.ReplaceAll(good, []byte("\r\n"), []byte("\n")), errForeign, ""},
		{"zeros", make([]byte, 4096), errForeign, ""},
		{"next version", version(2), errNewer, "format 2, this program reads up to 1"},
		{"far version", version(1 << 31), errNewer, "upgrade"},
		{"no version", version(0), errDamaged, "format 0"},
		{"appended to", append(slices.Clone(good), 0), errDamaged, "1 bytes were added"},
		{"twice", append(slices.Clone(good), good...), errDamaged, "were added"},
		{"index in the head", indexAt(10), errDamaged, "index"},
		{"index at the end", indexAt(uint64(len(good))), errDamaged, "index"},
		{"index far out", indexAt(1 << 62), errDamaged, "index"},
		{"index before zero", indexAt(1 << 63), errDamaged, "index"},
		{"index elsewhere", indexAt(headSize), errDamaged, "checksum of the index"},
	} {
		_, err := readAll(c.file)
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: got %v, want %v with %q", c.name, err, c.want, c.text)
		}
	}
}

// forge builds a file with right checksums around any content.
func forge(shards [][]byte, indexFrame []byte) []byte {
	file := make([]byte, headSize)
	for _, s := range shards {
		file = append(file, s...)
	}
	h := head{version: 1, size: int64(len(file) + len(indexFrame)), index: int64(len(file)), indexCRC: checksum(indexFrame)}
	copy(file, h.encode())
	return append(file, indexFrame...)
}

// forgeJSON is forge with an index of any JSON, where %d stand for the size,
// raw size and checksum of the one shard.
func forgeJSON(t testing.TB, shard, index string) []byte {
	enc, err := newEncoder()
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	packed := enc.EncodeAll([]byte(shard), nil)
	if strings.Contains(index, "%d") {
		index = fmt.Sprintf(index, len(packed), len(shard), checksum(packed))
	}
	frame := skippable(enc.EncodeAll([]byte(index), binary.LittleEndian.AppendUint32(nil, uint32(len(index)))))
	return forge([][]byte{packed}, frame)
}

const (
	lineA = `{"query":{"query_id":"a","query":"?","rubrics":null},"ordinal":0}` + "\n"
	lineB = `{"query":{"query_id":"b","query":"?","rubrics":null},"ordinal":0}` + "\n"
)

// Right checksums do not make content right.
func TestForged(t *testing.T) {
	const meta = `"meta":{"method":"m","created_by":"c"}`
	index := func(first string, queries, total int) string {
		return fmt.Sprintf(`{%s,"queries":%d,"shards":[{"first":%q,"queries":%d,"size":%%d,"raw":%%d,"crc":%%d}]}`, meta, total, first, queries)
	}
	if records, err := readAll(forgeJSON(t, lineA+lineB, index("a", 2, 2))); err != nil || len(records) != 2 {
		t.Fatalf("the honest forgery: %v, %v", records, err)
	}
	for _, c := range []struct{ name, shard, index, text string }{
		{"not JSON", "hello\n", index("a", 1, 1), "record 0"},
		{"no line end", lineA + lineB[:len(lineB)-1], index("a", 2, 2), "no end"},
		{"two values in a line", strings.TrimSpace(lineA) + lineB, index("a", 2, 2), "after top-level value"},
		{"empty line", lineA + "\n" + lineB, index("a", 3, 3), "record 1"},
		{"unknown field", strings.Replace(lineA, `"ordinal"`, `"secret":1,"ordinal"`, 1), index("a", 1, 1), "secret"},
		{"invalid record", strings.Replace(lineA, `"ordinal":0`, `"ordinal":-1`, 1), index("a", 1, 1), "ordinal"},
		{"order", lineB + lineA, index("b", 2, 2), "order"},
		{"twice", lineA + lineA, index("a", 2, 2), "order"},
		{"other first id", lineA, index("A", 1, 1), `instead of "A"`},
		{"fewer records", lineA, index("a", 2, 2), "1 records instead of 2"},
		{"more records", lineA + lineB, index("a", 1, 1), "2 records instead of 1"},
		{"other total", lineA, index("a", 1, 7), "instead of 7"},
		{"no queries", lineA, index("a", 0, 0), "0 queries"},
		{"index not JSON", lineA, "[", "index"},
		{"index with an unknown field", lineA, `{"x":1}`, "x: unknown field"},
		{"index and more", lineA, index("a", 1, 1) + "{}", "after top-level value"},
		{"no shard in the index", lineA, "{" + meta + `,"queries":0,"shards":[]}`, "instead of"},
		{"size too large", lineA, `{` + meta + `,"queries":1,"shards":[{"first":"a","queries":1,"size":1%d,"raw":%d,"crc":%d}]}`, "leaves the file"},
		{"size overflows", lineA, `{` + meta + `,"queries":1,"shards":[{"first":"a","queries":1,"size":9223372036854775807,"raw":5,"crc":1}]}`, "leaves the file"},
		{"size negative", lineA, `{` + meta + `,"queries":1,"shards":[{"first":"a","queries":1,"size":-%d,"raw":%d,"crc":%d}]}`, "leaves the file"},
		{"raw size larger", lineA, `{` + meta + `,"queries":1,"shards":[{"first":"a","queries":1,"size":%d,"raw":1%d,"crc":%d}]}`, "instead of"},
		{"raw size 1", lineA, `{` + meta + `,"queries":1,"shards":[{"first":"a","queries":1,"size":%d,"raw":1,"crc":%[3]d}]}`, "shard 0"},
		{"raw size negative", lineA, `{` + meta + `,"queries":1,"shards":[{"first":"a","queries":1,"size":%d,"raw":-%d,"crc":%d}]}`, "raw size"},
	} {
		_, err := readAll(forgeJSON(t, c.shard, c.index))
		if !errors.Is(err, errDamaged) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: got %v, want errDamaged with %q", c.name, err, c.text)
		}
	}
}

// One must find what Records yields, so shards may not overlap.
func TestForgedOverlap(t *testing.T) {
	enc, err := newEncoder()
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	lineC := strings.Replace(lineA, `"a"`, `"c"`, 1)
	for _, c := range []struct {
		shards [2]string
		firsts [2]string
		ok     bool
	}{
		{[2]string{lineA + lineB, lineC}, [2]string{"a", "c"}, true},
		{[2]string{lineA + lineC, lineB}, [2]string{"a", "b"}, false},
		{[2]string{lineA + lineB, lineB}, [2]string{"a", "b"}, false},
		{[2]string{lineB + lineC, lineA}, [2]string{"b", "a"}, false},
		{[2]string{lineA, lineA}, [2]string{"a", "a"}, false},
	} {
		var x index
		var packed [][]byte
		for i, text := range c.shards {
			p := enc.EncodeAll([]byte(text), nil)
			n := strings.Count(text, "\n")
			packed = append(packed, p)
			x.Shards = append(x.Shards, shardEntry{First: c.firsts[i], Queries: n, Size: int64(len(p)), Raw: int64(len(text)), CRC: checksum(p)})
			x.Queries += n
		}
		frame, err := x.encode(enc)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := readAll(forge(packed, frame)); c.ok != (err == nil) || (err != nil && !errors.Is(err, errDamaged)) {
			t.Errorf("shards from %v: got %v, want it accepted: %v", c.firsts, err, c.ok)
		}
	}
}

// What a file claims to hold is not allocated for.
func TestClaimedSizes(t *testing.T) {
	enc, err := newEncoder()
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	honest := enc.EncodeAll([]byte("{}"), nil)
	// A frame header that promises 1 GiB, and nothing behind it.
	hollow := append([]byte("\x28\xb5\x2f\xfd\xa0"), 0, 0, 0, 0x40, 1, 0, 0)
	claim := func(raw uint32, packed []byte) []byte {
		return forge(nil, skippable(append(binary.LittleEndian.AppendUint32(nil, raw), packed...)))
	}
	shard := func(packed []byte, raw int64) []byte {
		x := index{Queries: 1, Shards: []shardEntry{{First: "a", Queries: 1, Size: int64(len(packed)), Raw: raw, CRC: checksum(packed)}}}
		frame, err := x.encode(enc)
		if err != nil {
			t.Fatal(err)
		}
		return forge([][]byte{packed}, frame)
	}
	var wide bytes.Buffer // 16 MiB of zeros in a few KB: more than it says
	wide.Write(enc.EncodeAll(make([]byte, 16<<20), nil))
	for name, file := range map[string][]byte{
		"index claims 4 GiB":               claim(1<<32-1, honest),
		"index claims its limit":           claim(maxRawIndex, honest),
		"index frame is hollow":            claim(1<<17, hollow),
		"index larger than said":           claim(1<<17, wide.Bytes()),
		"shard claims its limit":           shard(honest, maxShard),
		"shard claims more than its limit": shard(honest, maxShard+1),
		"shard frame is hollow":            shard(hollow, 1<<17),
		"shard larger than said":           shard(wide.Bytes(), 1<<20),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := readAll(file)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, errDamaged) {
			t.Errorf("%s: got %v, want errDamaged", name, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
			t.Errorf("%s: allocated %d bytes for a file of %d", name, used, len(file))
		}
	}
}

// reads notes which bytes were asked for.
type reads struct {
	file []byte
	n    int64
	hit  []bool
}

func (r *reads) ReadAt(p []byte, at int64) (int, error) {
	n, err := bytes.NewReader(r.file).ReadAt(p, at)
	r.n += int64(n)
	for i := range n {
		r.hit[at+int64(i)] = true
	}
	return n, err
}

func TestOneReadsOneShard(t *testing.T) {
	var records []buffer.Record
	for i := range 300 {
		r := small()[0]
		r.Query.ID = fmt.Sprintf("q%03d", i)
		r.Query.Rubrics[0].Text = strings.Repeat(r.Query.ID, 500)
		records = append(records, r)
	}
	src := &reads{file: mustEncode(t, records)}
	src.hit = make([]bool, len(src.file))
	r, err := newReader(src, int64(len(src.file)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	if len(r.index.Shards) < 5 {
		t.Fatalf("%d shards are too few for this test", len(r.index.Shards))
	}
	opening := src.n
	if want := headSize + int64(len(src.file)) - r.head.index; opening != want {
		t.Errorf("opening read %d bytes, want head and index: %d", opening, want)
	}
	for i, s := range r.index.Shards {
		src.n = 0
		clear(src.hit)
		if _, err := r.one(s.First); err != nil {
			t.Fatal(err)
		}
		if src.n != s.Size || !src.hit[s.offset] || !src.hit[s.offset+s.Size-1] {
			t.Errorf("shard %d of %d bytes at %d: read %d bytes elsewhere", i, s.Size, s.offset, src.n)
		}
	}
	// Damage in another shard does not matter to it.
	src.file[r.index.Shards[2].offset+9] ^= 1
	if _, err := r.one("q000"); err != nil {
		t.Errorf("a healthy shard: %v", err)
	}
	if _, err := r.one(r.index.Shards[2].First); !errors.Is(err, errDamaged) {
		t.Errorf("the damaged shard: %v, want errDamaged", err)
	}
	src.file = src.file[:headSize+100] // shrinks while it is open
	if _, err := r.one("q299"); !errors.Is(err, errTruncated) {
		t.Errorf("a file that shrank: %v, want errTruncated", err)
	}
}

func TestReadNamesTheFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "c.zst")
	if err := os.WriteFile(path, mustEncode(t, small())[:99], 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, readErr := Read(path)
	_, oneErr := ReadOne(path, "chat")
	for _, err := range []error{readErr, oneErr} {
		if !errors.Is(err, errTruncated) || !strings.Contains(err.Error(), path) {
			t.Errorf("got %v, want errTruncated naming %s", err, path)
		}
	}
	if _, _, err := Read(dir); !errors.Is(err, errForeign) {
		t.Errorf("a directory: %v, want errForeign", err)
	}
	if _, _, err := Read(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v, want os.ErrNotExist", err)
	}
}
