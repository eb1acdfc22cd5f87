package checkpoint

import (
	"bytes"
	"errors"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/rankbuffer/rankbuffer/core/buffer"
	"github.com/rankbuffer/rankbuffer/core/query"
	"github.com/rankbuffer/rankbuffer/tests/proptest"
)

func sorted(records []buffer.Record) []buffer.Record {
	records = slices.Clone(records)
	slices.SortFunc(records, func(a, b buffer.Record) int { return strings.Compare(a.Query.ID, b.Query.ID) })
	return records
}

func TestRoundTrip(t *testing.T) {
	seed := proptest.Seed(t)
	r := rand.New(rand.NewSource(seed))
	path := filepath.Join(t.TempDir(), "c.zst")
	shards := 0
	for _, records := range [][]buffer.Record{nil, small(), random(r, 1), random(r, 2), random(r, 20), random(r, 60)} {
		if err := Write(path, meta, records); err != nil {
			t.Fatal(err)
		}
		gotMeta, got, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		want := sorted(records)
		if gotMeta != meta || len(got) != len(want) {
			t.Fatalf("got %+v and %d records, want %+v and %d", gotMeta, len(got), meta, len(want))
		}
		for i := range want {
			if g, w := toJSON(t, got[i]), toJSON(t, want[i]); g != w {
				t.Fatalf("record %d\ngot  %s\nwant %s", i, g, w)
			}
			one, err := ReadOne(path, want[i].Query.ID)
			if err != nil || !reflect.DeepEqual(one, got[i]) {
				t.Fatalf("ReadOne(%q) = %+v, %v", want[i].Query.ID, one, err)
			}
		}
		x, size := indexOf(t, path)
		file, err := os.Stat(path)
		if err != nil || x.Queries != len(got) || size != file.Size() {
			t.Errorf("%v: the index tells of %d queries in %d bytes for %d records", err, x.Queries, size, len(got))
		}
		shards = max(shards, len(x.Shards))
	}
	if shards < 3 {
		t.Errorf("at most %d shards: the test does not test what it should", shards)
	}
}

// indexOf is the table of contents of a checkpoint, and its size.
func indexOf(t testing.TB, path string) (x index, size int64) {
	t.Helper()
	err := withFile(path, func(r *reader) error { x, size = r.index, r.head.size; return nil })
	if err != nil {
		t.Fatal(err)
	}
	return x, size
}

// Equal records give equal bytes, whatever their order and whatever was
// encoded before, and reading and writing again changes nothing.
func TestSameBytes(t *testing.T) {
	r := rand.New(rand.NewSource(proptest.Seed(t)))
	records := random(r, 50)
	want := mustEncode(t, records)
	for range 3 {
		mustEncode(t, random(r, 5))
		r.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
		if !bytes.Equal(mustEncode(t, records), want) {
			t.Fatal("equal records gave other bytes")
		}
	}
	back, err := readAll(want)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(mustEncode(t, back), want) {
		t.Fatal("what was read gives other bytes")
	}
}

// A plain zstd decoder sees the records as JSON lines.
func TestIsPlainZstd(t *testing.T) {
	d, err := zstd.NewReader(bytes.NewReader(mustEncode(t, small())), zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	text, err := io.ReadAll(d)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(lines) != len(small()) || !strings.HasPrefix(lines[1], `{"query":{"query_id":"lazy","query":"not started"`) {
		t.Errorf("got %q", text)
	}
}

func TestNotFound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.zst")
	for _, records := range [][]buffer.Record{nil, small()} {
		if err := Write(path, meta, records); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"", "a", "chat2", "zzz"} {
			if _, err := ReadOne(path, id); !errors.Is(err, errNotFound) {
				t.Errorf("%d records, id %q: got %v, want errNotFound", len(records), id, err)
			}
		}
	}
}

func TestWriteRefusesRecords(t *testing.T) {
	ok := small()[0]
	for _, c := range []struct {
		name  string
		spoil func([]buffer.Record) []buffer.Record
		names string
	}{
		{"twice", func(r []buffer.Record) []buffer.Record { return append(r, ok) }, `"chat": given twice`},
		{"no id", func(r []buffer.Record) []buffer.Record { return append(r, buffer.Record{}) }, "query_id"},
		{"not UTF-8", func(r []buffer.Record) []buffer.Record {
			return append(r, buffer.Record{Query: query.Query{ID: "z", Prompt: query.Prompt{Text: "\xff"}}})
		}, `"z": query: not UTF-8`},
	} {
		err := encode(&memory{}, meta, c.spoil(small()))
		if !errors.Is(err, errRecord) || !strings.Contains(err.Error(), c.names) {
			t.Errorf("%s: got %v, want errRecord naming %q", c.name, err, c.names)
		}
	}
}

func TestWriteDoesNotReorderItsInput(t *testing.T) {
	records := small()
	slices.Reverse(records)
	mustEncode(t, records)
	if records[0].Query.ID != "pending" {
		t.Errorf("first record is now %q", records[0].Query.ID)
	}
}
