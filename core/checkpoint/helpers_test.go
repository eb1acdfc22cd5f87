package checkpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/rankbuffer/rankbuffer/core/buffer"
	"github.com/rankbuffer/rankbuffer/core/query"
	"github.com/rankbuffer/rankbuffer/core/strict"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var meta = Meta{Method: "rankbuffer", CreatedBy: "0.1.0"}

// memory is an output in memory.
type memory struct{ b []byte }

func (m *memory) Write(p []byte) (int, error) {
	m.b = append(m.b, p...)
	return len(p), nil
}

func (m *memory) WriteAt(p []byte, at int64) (int, error) { return copy(m.b[at:], p), nil }

func mustEncode(t testing.TB, records []buffer.Record) []byte {
	t.Helper()
	var out memory
	if err := encode(&out, meta, records); err != nil {
		t.Fatal(err)
	}
	return out.b
}

// readAll is Read of a file in memory.
func readAll(file []byte) ([]buffer.Record, error) {
	r, err := newReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, err
	}
	defer r.close()
	return r.all()
}

// lineOf is v as EncodeLine writes it.
func lineOf(v any) ([]byte, error) {
	var b bytes.Buffer
	err := strict.EncodeLine(&b, v)
	return b.Bytes(), err
}

func toJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// small is a fixed set of records with every field in use somewhere.
func small() []buffer.Record {
	started := buffer.New(buffer.Bootstrap, []string{"so-so", "good \"quoted\"\n<b>", "best \u2028 \U0001F600"}, 3, 0, 7)
	moved, err := started.Update([][]string{{"awful"}, {"p", "q", "r"}, {}, {"superb"}}, 1, 20, buffer.Options{PruneAfter: 3})
	if err != nil {
		panic(err)
	}
	return []buffer.Record{
		{Query: query.Query{ID: "chat", Prompt: query.Prompt{Messages: []query.Message{{Role: "system", Content: ""}, {Role: "user", Content: "hi"}}},
			Rubrics: []query.Rubric{{Text: "friendly", Weight: 0.1}, {Text: "short", Weight: 5}}}, Buffer: moved, Ordinal: 2},
		{Query: query.Query{ID: "lazy", Prompt: query.Prompt{Text: "not started"}}},
		{Query: query.Query{ID: "pending", Prompt: query.Prompt{Text: "managed"}, Ranked: []string{"b", "a"}}, Ordinal: 1,
			Buffer: buffer.New(buffer.Ranked, []string{"a", "b"}, 4, 0, 0).Count(0).WithPending(&buffer.Pending{
				Order: []buffer.Placed{{Text: "a", Anchor: true}, {Text: "x"}, {Text: "b", Anchor: true}}, Keep: 2, Step: 3})},
	}
}

// random makes n records of very different sizes, in random order of ids.
func random(r *rand.Rand, n int) []buffer.Record {
	words := strings.Fields("the quick brown fox jumps over a lazy dog \u00e9t\u00e9 \u6f22\u5b57 <tag> & \\ \"")
	text := func(limit int) string {
		var b strings.Builder
		for range 1 + r.Intn(limit) {
			b.WriteString(words[r.Intn(len(words))])
			b.WriteByte(" \n\t"[r.Intn(3)])
		}
		return b.String() + strconv.Itoa(r.Int())
	}
	records := make([]buffer.Record, 0, n)
	for i := range n {
		q := query.Query{ID: fmt.Sprintf("q%x-%d", r.Intn(1<<16), i), Prompt: query.Prompt{Text: text(30)}}
		for range r.Intn(4) {
			q.Rubrics = append(q.Rubrics, query.Rubric{Text: text(9), Weight: r.ExpFloat64() + 1e-9})
		}
		record := buffer.Record{Query: q, Ordinal: r.Intn(5)}
		if r.Intn(5) > 0 {
			limit := []int{10, 100, 1200}[r.Intn(3)]
			var texts []string
			for range 2 + r.Intn(8) {
				texts = append(texts, text(limit))
			}
			record.Buffer = buffer.New(buffer.Ranked, texts, 4, 0, 0)
			for e := range r.Intn(4) {
				buckets := make([][]string, len(record.Buffer.Anchors)+1)
				for range 8 {
					p := r.Intn(len(buckets))
					buckets[p] = append(buckets[p], text(limit))
				}
				next, err := record.Buffer.Update(buckets, e, 10*e, buffer.Options{PruneAfter: 2})
				if err != nil {
					panic(err)
				}
				record.Buffer = next
			}
		}
		records = append(records, record)
	}
	r.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	return records
}
