package checkpoint

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/buffer"
)

// Journals of every version must stay readable: testdata/journal-vN.rbj and the
// entries it holds, testdata/journal-vN.jsonl.
func TestJournalGolden(t *testing.T) {
	if *newGolden {
		writeJournalGolden(t)
	}
	for version := 1; version <= JournalVersion; version++ {
		path := fmt.Sprintf("testdata/journal-v%d", version)
		file, err := os.ReadFile(path + ".rbj")
		if err != nil {
			t.Fatal(err)
		}
		if got := int(file[len(journalTag)]); got != version {
			t.Errorf("%s.rbj is of version %d", path, got)
		}
		want, err := os.ReadFile(path + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		_, torn, err := ReadJournal(path+".rbj", func(e Entry) error {
			got = append(got, wholeLine(t, e))
			return nil
		})
		if err != nil || torn {
			t.Fatalf("%s: torn %v, %v", path, torn, err)
		}
		lines := slices.Collect(strings.Lines(string(want)))
		if len(got) != len(lines) {
			t.Fatalf("%s: %d entries, want %d", path, len(got), len(lines))
		}
		for i, line := range lines {
			if got[i] != line {
				t.Errorf("%s: entry %d:\ngot  %swant %s", path, i, got[i], line)
			}
		}
	}
}

// wholeLine is an entry as JSON, its record whole.
func wholeLine(t *testing.T, e Entry) string {
	t.Helper()
	line, err := lineOf(entryJSON{Step: e.Step, AfterCheckpoint: e.AfterCheckpoint, IdempotencyKey: e.IdempotencyKey, Record: &e.Record, Result: e.Result})
	if err != nil {
		t.Fatal(err)
	}
	return string(line)
}

// goldenHistory has every kind of entry, and every field in use somewhere.
func goldenHistory(t *testing.T) []Entry {
	t.Helper()
	all := small()
	chat, lazy, pending := all[0], all[1], all[2]
	moved, err := chat.Buffer.Update([][]string{{"worse"}, {"mid", "mid too"}, {}, {}, {}, {}, {"better"}}, 2, 30, buffer.Options{PruneAfter: 1})
	if err != nil {
		t.Fatal(err)
	}
	later := chat
	later.Buffer, later.Ordinal, later.IdempotencyKeys = moved, 3, []string{"uid-1"}
	counted := lazy
	counted.Ordinal = 1
	managed := pending
	managed.Buffer, managed.Ordinal = pending.Buffer.WithPending(nil), 2
	step := 4
	return []Entry{
		{Record: chat}, {Record: lazy}, {Record: pending},
		{Record: later, Step: &step, AfterCheckpoint: 3, IdempotencyKey: "uid-1", Result: resultOf("label <1>", "a", "b")},
		{Record: counted, AfterCheckpoint: 3, Result: resultOf("2", "")},
		{Record: managed, Step: &step},
	}
}

func writeJournalGolden(t *testing.T) {
	t.Helper()
	path := fmt.Sprintf("testdata/journal-v%d", JournalVersion)
	if err := os.Remove(path + ".rbj"); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	j, err := CreateJournal(path+".rbj", meta)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, e := range goldenHistory(t) {
		if err := j.Append(e); err != nil {
			t.Fatal(err)
		}
		text.WriteString(wholeLine(t, e))
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".jsonl", []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
