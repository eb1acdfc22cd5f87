package checkpoint

import (
	"fmt"
	"math/rand"
	"path/filepath"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/buffer"
	"github.com/rankbuffer/rankbuffer/core/query"
)

// thousand is a thousand queries of eight anchors of 1 to 2 KB of words.
func thousand() []buffer.Record {
	r := rand.New(rand.NewSource(1))
	var words []string
	for range 3000 {
		word := make([]byte, 2+r.Intn(8))
		for i := range word {
			word[i] = byte('a' + r.Intn(26))
		}
		words = append(words, string(word))
	}
	zipf := rand.NewZipf(r, 1.2, 3, uint64(len(words)-1))
	text := func() string {
		var b []byte
		for len(b) < 1000+r.Intn(1000) {
			b = append(append(b, words[zipf.Uint64()]...), ' ')
		}
		return string(b)
	}
	var records []buffer.Record
	for i := range 1000 {
		var texts []string
		for range 8 {
			texts = append(texts, text())
		}
		q := query.Query{ID: fmt.Sprintf("query-%05d", i), Prompt: query.Prompt{Text: text()}}
		records = append(records, buffer.Record{Query: q, Buffer: buffer.New(buffer.Ranked, texts, 8, 0, 0)})
	}
	return records
}

func BenchmarkWrite(b *testing.B) {
	records := thousand()
	path := filepath.Join(b.TempDir(), "c.zst")
	for b.Loop() {
		if err := Write(path, meta, records); err != nil {
			b.Fatal(err)
		}
	}
	report(b, path)
}

func BenchmarkRead(b *testing.B) {
	path := filepath.Join(b.TempDir(), "c.zst")
	if err := Write(path, meta, thousand()); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, _, err := Read(path); err != nil {
			b.Fatal(err)
		}
	}
	report(b, path)
}

func BenchmarkReadOne(b *testing.B) {
	path := filepath.Join(b.TempDir(), "c.zst")
	if err := Write(path, meta, thousand()); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := ReadOne(path, "query-00500"); err != nil {
			b.Fatal(err)
		}
	}
}

func report(b *testing.B, path string) {
	x, size := indexOf(b, path)
	raw := int64(0)
	for _, s := range x.Shards {
		raw += s.Raw
	}
	b.SetBytes(raw)
	b.ReportMetric(float64(raw)/float64(size), "x-compressed")
}
