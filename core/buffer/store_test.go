package buffer

import (
	"errors"
	"fmt"
	"github.com/rankbuffer/rankbuffer/core/fault"
	"strings"
	"sync"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/query"
)

func ask(id string) query.Query {
	return query.Query{ID: id, Prompt: query.Prompt{Text: "what is " + id + "?"}}
}

func ranked(texts ...string) func() (*Buffer, error) {
	return func() (*Buffer, error) { return New(Ranked, texts, 4, 0, 0), nil }
}

func TestStoreCreate(t *testing.T) {
	var s Store
	full := ask("q")
	full.Rubrics = []query.Rubric{{Text: "clear", Weight: 1}}
	full.Ranked = []string{"b", "a"}
	if err := s.Create(full, ranked("a", "b")); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("no start")
	for _, c := range []struct {
		name   string
		change func(*query.Query)
		want   error
		names  string
	}{
		{"the same", func(*query.Query) {}, nil, ""},
		{"id alone", func(q *query.Query) { *q = query.Query{ID: "q"} }, nil, ""},
		{"other prompt", func(q *query.Query) { q.Prompt.Text = "?" }, fault.QueryConflict, "query:"},
		{"other rubrics", func(q *query.Query) { q.Rubrics = []query.Rubric{{Text: "clear", Weight: 2}} }, fault.QueryConflict, "rubrics:"},
		{"other ranked", func(q *query.Query) { q.Ranked = []string{"a", "b"} }, fault.QueryConflict, "ranked:"},
		{"new and invalid", func(q *query.Query) { *q = query.Query{ID: "new"} }, fault.MissingField, "query:"},
		{"new without an id", func(q *query.Query) { q.ID = "" }, fault.MissingField, "query_id"},
	} {
		q := full
		c.change(&q)
		err := s.Create(q, func() (*Buffer, error) { t.Errorf("%s: started", c.name); return nil, nil })
		if !errors.Is(err, c.want) || (err != nil && !strings.Contains(err.Error(), c.names)) {
			t.Errorf("%s: got %v, want %v naming %q", c.name, err, c.want, c.names)
		}
	}
	if err := s.Create(ask("other"), func() (*Buffer, error) { return nil, failed }); !errors.Is(err, failed) {
		t.Errorf("failing start: got %v", err)
	}
	if _, ok := s.Get("other"); ok || s.Len() != 1 {
		t.Errorf("a failed create left something behind: %d records", s.Len())
	}
	if r, ok := s.Get("q"); !ok || show(r.Buffer) != "a b" || r.Ordinal != 0 {
		t.Errorf("got %+v", r)
	}
	if err := s.Create(ask("lazy"), nil); err != nil {
		t.Fatal(err)
	}
	if r, ok := s.Get("lazy"); !ok || r.Buffer != nil {
		t.Errorf("without a start: got %+v, want no buffer", r)
	}
}

func TestStoreCommit(t *testing.T) {
	var s Store
	if err := s.Create(ask("q"), nil); err != nil {
		t.Fatal(err)
	}
	first := New(Bootstrap, []string{"a", "b"}, 2, 0, 0)
	twin := New(Bootstrap, []string{"a", "b"}, 2, 0, 0)
	second := first.Count(1)
	for i, c := range []struct {
		id          string
		base, next  *Buffer
		ordinal     int
		want        error
		wantBuffer  *Buffer
		wantOrdinal int
	}{
		{"nobody", nil, first, 1, fault.UnknownQuery, nil, 0},
		{"q", twin, first, 1, fault.StaleUpdate, nil, 0}, // not started yet
		{"q", nil, nil, 1, nil, nil, 1},                  // a group whose bootstrap call failed
		{"q", nil, first, 2, nil, first, 2},
		{"q", nil, second, 3, fault.StaleUpdate, first, 2},
		{"q", twin, second, 3, fault.StaleUpdate, first, 2}, // equal content is not the same buffer
		{"q", first, nil, 3, nil, first, 3},
		{"q", first, second, 4, nil, second, 4},
		{"q", first, second, 5, fault.StaleUpdate, second, 4},
	} {
		err := s.Commit(c.id, c.base, c.next, c.ordinal, "")
		if !errors.Is(err, c.want) || (c.want == nil) != (err == nil) {
			t.Errorf("%d: got %v, want %v", i, err, c.want)
		}
		if r, _ := s.Get("q"); r.Buffer != c.wantBuffer || r.Ordinal != c.wantOrdinal {
			t.Errorf("%d: store has %s ordinal %d, want %s, %d", i, dump(r.Buffer), r.Ordinal, dump(c.wantBuffer), c.wantOrdinal)
		}
	}
	if s.Len() != 1 {
		t.Errorf("%d records, want 1: a refused commit must not create one", s.Len())
	}
}

func TestStoreAllAndReplace(t *testing.T) {
	var s Store
	if all := s.All(); all == nil || len(all) != 0 {
		t.Errorf("empty store: %v, want an empty list", all)
	}
	for _, id := range []string{"b", "a", "B", "a1"} {
		if err := s.Create(ask(id), nil); err != nil {
			t.Fatal(err)
		}
	}
	ids := func(records []Record) (out string) {
		for _, r := range records {
			out += r.Query.ID + " "
		}
		return out
	}
	saved := s.All()
	if got, want := ids(saved), "B a a1 b "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	s.Replace([]Record{{Query: ask("z"), Ordinal: 1}, {Query: ask("z"), Ordinal: 2}})
	if r, ok := s.Get("z"); !ok || r.Ordinal != 2 || s.Len() != 1 {
		t.Errorf("after Replace: %+v, %d records", r, s.Len())
	}
	if got, want := ids(saved), "B a a1 b "; got != want {
		t.Errorf("what All gave changed: %q, want %q", got, want)
	}
	s.Replace(nil)
	if s.Len() != 0 {
		t.Errorf("%d records after Replace(nil)", s.Len())
	}
	if err := s.Create(ask("q"), nil); err != nil || s.Len() != 1 {
		t.Errorf("create after Replace: %v, %d records", err, s.Len())
	}
}

// Writers that retry when stale lose no group; a reader sees each record before
// or after a whole commit, never between. Run with -race.
func TestStoreConcurrent(t *testing.T) {
	const writers, commits = 8, 50
	var s Store
	for i := range 3 {
		if err := s.Create(ask(fmt.Sprint(i)), ranked("a", "b")); err != nil {
			t.Fatal(err)
		}
	}
	var writing, reading sync.WaitGroup
	done := make(chan struct{})
	reading.Add(1)
	go func() {
		defer reading.Done()
		for {
			for _, r := range s.All() {
				if r.Buffer.Groups != r.Ordinal {
					t.Errorf("half a commit is visible: %d groups, ordinal %d", r.Buffer.Groups, r.Ordinal)
				}
			}
			select {
			case <-done:
				return
			default:
			}
		}
	}()
	for w := range writers {
		writing.Add(1)
		go func() {
			defer writing.Done()
			id := fmt.Sprint(w % 3)
			for n := 0; n < commits; {
				r, _ := s.Get(id)
				next, err := r.Buffer.Update(make([][]string, len(r.Buffer.Anchors)+1), n, n, Options{})
				if err != nil {
					t.Error(err)
					return
				}
				switch err := s.Commit(id, r.Buffer, next, r.Ordinal+1, ""); {
				case err == nil:
					n++
				case !errors.Is(err, fault.StaleUpdate):
					t.Error(err)
					return
				}
			}
		}()
	}
	writing.Wait()
	close(done)
	reading.Wait()
	total := 0
	for _, r := range s.All() {
		total += r.Buffer.Groups
	}
	if total != writers*commits {
		t.Errorf("%d groups in the store, want %d", total, writers*commits)
	}
}
