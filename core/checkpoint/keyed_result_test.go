package checkpoint

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/rankbuffer/rankbuffer/core/buffer"
)

// resultOf is what a group of these responses could have come back with.
func resultOf(key string, responses ...string) *KeyedResult {
	a := &KeyedResult{Key: key, Result: json.RawMessage(`{"rewards":[1,0.5],"text":"\u003cb\u003e \u2028 é","detail":{"b":1,"a":null}}`)}
	for _, r := range responses {
		a.Responses = append(a.Responses, Digest(r))
	}
	return a
}

func TestDigest(t *testing.T) {
	for text, want := range map[string]string{ // printf %s TEXT | sha256sum | cut -c-24
		"":    "e3b0c44298fc1c149afbf4c8",
		"abc": "ba7816bf8f01cfea414140de",
		"é\n": "edd3a863872a04239eb29ad4",
	} {
		if got := Digest(text); got != want {
			t.Errorf("Digest(%q) = %s, want %s", text, got, want)
		}
	}
}

// The result comes back byte for byte, in whole entries and in changes.
func TestJournalHoldsResults(t *testing.T) {
	r := small()[0]
	counted := r
	counted.Ordinal++
	path := writeJournal(t, []Entry{
		{Record: r, Result: resultOf("first \u2028 <key>", "a", "b")},
		{Record: counted, Result: resultOf("second", "c")},
		{Record: r},
	})
	var got []*KeyedResult
	if _, torn, err := ReadJournal(path, func(e Entry) error { got = append(got, e.Result); return nil }); torn || err != nil {
		t.Fatalf("torn %v, %v", torn, err)
	}
	want := []*KeyedResult{resultOf("first \u2028 <key>", "a", "b"), resultOf("second", "c"), nil}
	for i, w := range want {
		if (got[i] == nil) != (w == nil) || (w != nil && (!bytes.Equal(got[i].Result, w.Result) || toJSON(t, got[i]) != toJSON(t, w))) {
			t.Errorf("entry %d:\ngot  %s\nwant %s", i, toJSON(t, got[i]), toJSON(t, w))
		}
	}
}

var badResults = []struct {
	name   string
	answer string
	text   string // in the error
}{
	{"no key", `{"result_key":"","result":{},"responses":["ba7816bf8f01cfea414140de"]}`, "result_key"},
	{"no result", `{"result_key":"g","responses":["ba7816bf8f01cfea414140de"]}`, "result"},
	{"null result", `{"result_key":"g","result":null,"responses":["ba7816bf8f01cfea414140de"]}`, "result"},
	{"result is a list", `{"result_key":"g","result":[],"responses":["ba7816bf8f01cfea414140de"]}`, "result"},
	{"result is text", `{"result_key":"g","result":"{}","responses":["ba7816bf8f01cfea414140de"]}`, "result"},
	{"result is not UTF-8", "{\"result_key\":\"g\",\"result\":{\"a\":\"\xff\"},\"responses\":[\"ba7816bf8f01cfea414140de\"]}", "UTF-8"},
	{"no responses", `{"result_key":"g","result":{}}`, "responses"},
	{"empty responses", `{"result_key":"g","result":{},"responses":[]}`, "responses"},
	{"short digest", `{"result_key":"g","result":{},"responses":["ba7816bf8f01cfea414140de","ba78"]}`, "responses[1]"},
	{"digest in capitals", `{"result_key":"g","result":{},"responses":["BA7816BF8F01CFEA414140DE"]}`, "responses[0]"},
	{"null digest", `{"result_key":"g","result":{},"responses":[null]}`, "responses[0]"},
	{"unknown field", `{"result_key":"g","result":{},"responses":["ba7816bf8f01cfea414140de"],"x":1}`, "x"},
}

func TestJournalRefusesBadResults(t *testing.T) {
	record := toJSON(t, small()[1])
	for _, c := range badResults {
		path := forgeJournal(t, JournalVersion, `{"meta":{"method":"m","created_by":""}}`, `{"record":`+record+`,"keyed_result":`+c.answer+`}`)
		if _, _, err := replayed(path); !errors.Is(err, errDamaged) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: got %v, want errDamaged with %q", c.name, err, c.text)
		}
	}
}

// What would be refused when it is read is not written, and what follows is.
func TestAppendRefusesBadResults(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	j, err := CreateJournal(path, meta)
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range map[string]*KeyedResult{
		"no key":    resultOf("", "a"),
		"no result": {Key: "g", Responses: []string{Digest("a")}},
		"torn":      {Key: "g", Result: json.RawMessage(`{"a":`), Responses: []string{Digest("a")}},
		"text":      {Key: "g", Result: json.RawMessage(`{}`), Responses: []string{"the response itself, by mistake"}},
	} {
		if err := j.Append(Entry{Record: small()[0], Result: a}); !errors.Is(err, errRecord) {
			t.Errorf("%s: got %v, want errRecord", name, err)
		}
	}
	if err := j.Append(Entry{Record: small()[0], Result: resultOf("g", "a")}); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if got, torn, err := replayed(path); len(got) != 1 || torn || err != nil {
		t.Errorf("%d entries, torn %v, %v", len(got), torn, err)
	}
}

func TestJournalVersions(t *testing.T) {
	for version, want := range map[uint32]error{0: errDamaged, JournalVersion: nil, JournalVersion + 1: errNewer} {
		path := forgeJournal(t, version, `{"meta":{"method":"m","created_by":""}}`)
		if _, _, err := replayed(path); !errors.Is(err, want) {
			t.Errorf("version %d: got %v, want %v", version, err, want)
		}
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if want != nil {
			continue
		}
		for size := range journalHead { // its writer died at once
			if err := os.WriteFile(path, file[:size], 0o644); err != nil {
				t.Fatal(err)
			}
			if _, torn, err := replayed(path); !torn || err != nil {
				t.Errorf("version %d, %d bytes: torn %v, %v", version, size, torn, err)
			}
		}
	}
}

// forgeJournal writes any payloads as a journal whose checksums are right.
func forgeJournal(t testing.TB, version uint32, payloads ...string) string {
	t.Helper()
	enc, err := newEncoder()
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	b := binary.LittleEndian.AppendUint32([]byte(journalTag), version)
	b = binary.LittleEndian.AppendUint32(b, checksum(b))
	for _, raw := range payloads {
		b = append(b, forgeEntry(enc, raw)...)
	}
	path := filepath.Join(t.TempDir(), "forged.rbj")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func forgeEntry(enc *zstd.Encoder, raw string) []byte {
	packed := enc.EncodeAll([]byte(raw), nil)
	head := binary.LittleEndian.AppendUint32(nil, uint32(len(packed)))
	head = binary.LittleEndian.AppendUint32(head, uint32(len(raw)))
	head = binary.LittleEndian.AppendUint32(head, checksum(head))
	head = binary.LittleEndian.AppendUint32(head, checksum(packed))
	return append(head, packed...)
}

// FuzzJournalEntry feeds the parser of entries what the checksums keep away from
// FuzzReadJournal: two entries, of which the second may change what the first
// holds. What is accepted can be written, and reads the same then.
func FuzzJournalEntry(f *testing.F) {
	r := small()[0]
	record := toJSON(f, r)
	first := `{"record":` + record + `}`
	next := r
	next.Ordinal++
	change, err := lineOf(entryJSON{AfterCheckpoint: 1, IdempotencyKey: "t", Change: changeOf(r.Buffer, next), Result: resultOf("g", "a", "b")})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(first), change)
	f.Add([]byte(first), []byte(`{"step":1,"record":`+record+`,"keyed_result":`+toJSON(f, resultOf("g", "a"))+`}`))
	f.Add([]byte(first), []byte(`{"change":{"query_id":"chat","ordinal":3,"buffer":{"initial":2,"anchors":[{"from":0},{"from":1,"inactive":1}],"seen":[],"groups":1}}}`))
	for _, c := range badResults {
		f.Add([]byte(first), []byte(`{"record":`+record+`,"keyed_result":`+c.answer+`}`))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		read := &replay{records: map[string]buffer.Record{}}
		again := &replay{records: map[string]buffer.Record{}}
		for _, raw := range [][]byte{first, second} {
			e, err := read.entry(raw)
			if err != nil {
				return
			}
			out := entryJSON{Step: e.Step, AfterCheckpoint: e.AfterCheckpoint, IdempotencyKey: e.IdempotencyKey, Result: e.Result}
			// A writer changes no query, but a file may.
			if old, ok := again.records[e.Record.Query.ID]; ok && toJSON(t, old.Query) == toJSON(t, e.Record.Query) {
				out.Change = changeOf(old.Buffer, e.Record)
			} else {
				out.Record = &e.Record
			}
			line, err := lineOf(out)
			if err != nil {
				t.Fatalf("read, but cannot be written: %v", err)
			}
			back, err := again.entry(line)
			if err != nil || wholeLine(t, back) != wholeLine(t, e) {
				t.Fatalf("not stable: %v\nread %swritten %s", err, wholeLine(t, e), line)
			}
		}
	})
}
