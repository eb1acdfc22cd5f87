package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rankbuffer/rankbuffer/core/buffer"
	"github.com/rankbuffer/rankbuffer/core/query"
)

// history makes n random changes of a few queries, as groups would.
func history(t *testing.T, rng *rand.Rand, n int) []Entry {
	t.Helper()
	now := map[string]buffer.Record{}
	var all []Entry
	for i := range n {
		id := fmt.Sprintf("q%d", rng.Intn(4))
		r, ok := now[id]
		if !ok {
			r = buffer.Record{Query: query.Query{ID: id, Prompt: query.Prompt{Text: "what is <b>" + id + "</b>?"}}}
		}
		switch rng.Intn(5) {
		case 0: // counted, nothing changed
		default:
			if r.Buffer == nil {
				r.Buffer = buffer.New(buffer.Bootstrap, []string{"a", "b", "c", "d"}, 3, 0, i)
				break
			}
			buckets := make([][]string, len(r.Buffer.Anchors)+1)
			for k := range 6 {
				p := rng.Intn(len(buckets))
				buckets[p] = append(buckets[p], fmt.Sprintf("rollout %d.%d", i, k))
			}
			next, err := r.Buffer.Update(buckets, r.Buffer.Groups, i, buffer.Options{PruneAfter: 2})
			if err != nil {
				t.Fatal(err)
			}
			r.Buffer = next
		}
		r.Ordinal++
		e := Entry{AfterCheckpoint: i / 7, Record: r}
		if rng.Intn(2) == 0 {
			step := i
			e.Step, e.IdempotencyKey = &step, fmt.Sprintf("uid-%d", i)
			e.Record.IdempotencyKeys = append(e.Record.IdempotencyKeys[:len(e.Record.IdempotencyKeys):len(e.Record.IdempotencyKeys)], e.IdempotencyKey)
		}
		if rng.Intn(2) == 0 {
			e.Result = resultOf(fmt.Sprintf("group %d", i), fmt.Sprint(i), "x")
		}
		now[id] = e.Record
		all = append(all, e)
	}
	return all
}

func writeJournal(t testing.TB, entries []Entry) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "j.rbj")
	j, err := CreateJournal(path, meta)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := j.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	if got := j.Stats(); got.Entries != int64(len(entries)) || got.Errors != 0 {
		t.Errorf("stats: got %+v, want %d entries", got, len(entries))
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func replayed(path string) (entries []string, torn bool, err error) {
	_, torn, err = ReadJournal(path, func(e Entry) error {
		b, err := json.Marshal(e)
		entries = append(entries, string(b))
		return err
	})
	return entries, torn, err
}

func TestJournalHoldsWhatWasAppended(t *testing.T) {
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	want := history(t, rand.New(rand.NewSource(seed)), 200)
	path := writeJournal(t, want)
	got, torn, err := replayed(path)
	if err != nil || torn {
		t.Fatalf("torn %v, %v", torn, err)
	}
	if len(got) != len(want) {
		t.Fatalf("got %d entries, want %d", len(got), len(want))
	}
	for i, e := range want {
		if w := toJSON(t, e); got[i] != w {
			t.Fatalf("entry %d:\ngot  %s\nwant %s", i, got[i], w)
		}
	}
	whole := 0
	for _, e := range want {
		whole += len(toJSON(t, e))
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if int(info.Size()) > whole/2 {
		t.Errorf("%d bytes for records of %d: changes are not written as changes", info.Size(), whole)
	}
}

// A process that dies leaves any prefix of the file: what is whole is read.
func TestJournalCutAnywhere(t *testing.T) {
	want := history(t, rand.New(rand.NewSource(1)), 8)
	path := writeJournal(t, want)
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all, _, err := replayed(path)
	if err != nil {
		t.Fatal(err)
	}
	before, dir := -1, t.TempDir()
	for size := 0; size <= len(file); size++ {
		cut := filepath.Join(dir, "cut.rbj")
		if err := os.WriteFile(cut, file[:size], 0o644); err != nil {
			t.Fatal(err)
		}
		got, torn, err := replayed(cut)
		if err != nil {
			t.Fatalf("cut to %d bytes: %v", size, err)
		}
		if len(got) < before || len(got) > len(all) {
			t.Fatalf("cut to %d bytes: %d entries, %d before", size, len(got), before)
		}
		for i := range got {
			if got[i] != all[i] {
				t.Fatalf("cut to %d bytes: entry %d differs", size, i)
			}
		}
		if size == journalHead && !torn {
			t.Error("cut before the meta data: not torn")
		}
		if size == len(file) && (torn || len(got) != len(all)) {
			t.Errorf("whole file: torn %v, %d of %d entries", torn, len(got), len(all))
		}
		before = len(got)
	}
	if err := os.WriteFile(path, append(file, make([]byte, 4096)...), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, torn, err := replayed(path); err != nil || !torn || len(got) != len(all) {
		t.Errorf("zeros at the end: %d of %d entries, torn %v, %v", len(got), len(all), torn, err)
	}
}

func TestJournalRefusesDamage(t *testing.T) {
	path := writeJournal(t, history(t, rand.New(rand.NewSource(2)), 10))
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all, _, _ := replayed(path)
	for _, c := range []struct {
		name string
		edit func([]byte)
		want error
	}{
		{"foreign", func(b []byte) { b[0] = 'X' }, errForeign},
		{"start", func(b []byte) { b[13] ^= 1 }, errDamaged},
		{"entry in the middle", func(b []byte) { b[len(b)/2] ^= 0x40 }, errDamaged},
	} {
		t.Run(c.name, func(t *testing.T) {
			bad := append([]byte(nil), file...)
			c.edit(bad)
			p := filepath.Join(t.TempDir(), "bad.rbj")
			if err := os.WriteFile(p, bad, 0o644); err != nil {
				t.Fatal(err)
			}
			if _, _, err := replayed(p); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
	// Any flipped bit is refused, unless the last entry may have been torn by it:
	// nothing before that is ever lost or read differently.
	dir := t.TempDir()
	for at := 0; at < len(file); at += 3 {
		bad := append([]byte(nil), file...)
		bad[at] ^= 0x10
		p := filepath.Join(dir, "bit.rbj")
		if err := os.WriteFile(p, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		got, _, err := replayed(p)
		if err == nil && len(got) != len(all)-1 {
			t.Fatalf("bit flipped in byte %d: %d of %d entries are read", at, len(got), len(all))
		}
		for i := range got {
			if got[i] != all[i] {
				t.Fatalf("bit flipped in byte %d: entry %d reads differently", at, i)
			}
		}
	}
}

func TestJournalNeedsANewFile(t *testing.T) {
	path := writeJournal(t, nil)
	if _, err := CreateJournal(path, meta); !errors.Is(err, os.ErrExist) || !strings.Contains(err.Error(), "a journal needs a new file") {
		t.Errorf("got %v, want %v", err, os.ErrExist)
	}
	if _, err := CreateJournal(filepath.Join(t.TempDir(), "none", "j"), meta); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want %v", err, os.ErrNotExist)
	}
}

func FuzzReadJournal(f *testing.F) {
	path := filepath.Join(f.TempDir(), "seed.rbj")
	j, err := CreateJournal(path, meta)
	if err != nil {
		f.Fatal(err)
	}
	r := buffer.Record{Query: query.Query{ID: "q", Prompt: query.Prompt{Text: "x"}}, Buffer: buffer.New(buffer.Ranked, []string{"a", "b"}, 2, 0, 0)}
	for _, a := range []*KeyedResult{nil, resultOf("g", "a", "b")} {
		if err := j.Append(Entry{Record: r, Result: a}); err != nil {
			f.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		f.Fatal(err)
	}
	seed, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add(seed[:20])
	f.Fuzz(func(t *testing.T, file []byte) {
		p := filepath.Join(t.TempDir(), "fuzz.rbj")
		if err := os.WriteFile(p, file, 0o644); err != nil {
			t.Fatal(err)
		}
		_, _, err := ReadJournal(p, func(e Entry) error { return e.Record.Validate() })
		for _, known := range []error{nil, errForeign, errNewer, errDamaged} {
			if errors.Is(err, known) {
				return
			}
		}
		t.Errorf("error of no kind: %v", err)
	})
}
