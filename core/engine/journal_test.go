package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"github.com/rankbuffer/rankbuffer/core/fault"
	"os"
	"path/filepath"
	"testing"
)

// view is the state of all queries, as two engines can be compared by.
func view(t *testing.T, e *Engine) string {
	t.Helper()
	b, err := json.Marshal(e.store.All())
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func play(t *testing.T, e *Engine, g group) map[string]any {
	t.Helper()
	b, err := json.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	out, err := e.Score(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	var res map[string]any
	if err := json.Unmarshal(out, &res); err != nil {
		t.Fatal(err)
	}
	return res
}

// step is a group of step n, with other responses in each step.
func step(n int, query string) group {
	g := of(query, fmt.Sprintf("t%d", 5+n), fmt.Sprintf("t%d", 61+n), fmt.Sprintf("t%d", 25+n), fmt.Sprintf("t%d", 30+n))
	g["step"] = n
	g["after_checkpoint"] = (n - 1) / 2 * 2 // a checkpoint every other step
	return g
}

func restoreFrom(t *testing.T, e *Engine, from map[string]any) Restored {
	t.Helper()
	b, err := json.Marshal(from)
	if err != nil {
		t.Fatal(err)
	}
	found, err := e.RestoreFrom(b)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestJournalGivesBackEveryStep(t *testing.T) {
	dir := t.TempDir()
	e := open(t, ranked4, nil)
	if err := e.Journal(filepath.Join(dir, "0.rbj"), filepath.Join(dir, "0.zst")); err != nil {
		t.Fatal(err)
	}
	states := map[int]string{0: view(t, e)}
	for n := 1; n <= 6; n++ {
		for _, q := range []string{"q1", "q2", "q3"} {
			if res := play(t, e, step(n, q)); res["applied"] != true {
				t.Fatalf("step %d: applied is %v", n, res["applied"])
			}
		}
		states[n] = view(t, e)
		if n == 3 {
			if err := e.Journal(filepath.Join(dir, "1.rbj"), filepath.Join(dir, "1.zst")); err != nil {
				t.Fatal(err)
			}
		}
	}
	both := []string{filepath.Join(dir, "0.rbj"), filepath.Join(dir, "1.rbj")}
	for n := 0; n <= 6; n++ {
		fresh := open(t, ranked4, nil)
		found := restoreFrom(t, fresh, map[string]any{
			"checkpoints": []string{filepath.Join(dir, "0.zst")}, "journals": both, "until": map[string]int{"step": n},
		})
		if got := view(t, fresh); got != states[n] {
			t.Errorf("step %d:\ngot  %s\nwant %s", n, got, states[n])
		}
		if found.Entries != 3*n || found.Skipped != 3*(6-n) || found.Torn {
			t.Errorf("step %d: %+v", n, found)
		}
		if want := max(0, (n-1)/2*2); found.AfterCheckpoint != want {
			t.Errorf("step %d began after checkpoint %d, want %d", n, found.AfterCheckpoint, want)
		}
	}
	for number, n := range map[int]int{1: 2, 2: 2, 3: 4, 4: 4, 5: 6} {
		fresh := open(t, ranked4, nil)
		restoreFrom(t, fresh, map[string]any{"journals": both, "until": map[string]int{"after_checkpoint": number}})
		if got := view(t, fresh); got != states[n] {
			t.Errorf("after checkpoint %d is not step %d", number, n)
		}
	}
	fresh := open(t, ranked4, nil)
	restoreFrom(t, fresh, map[string]any{"checkpoints": []string{filepath.Join(dir, "1.zst")}, "journals": both[1:]})
	if got := view(t, fresh); got != states[6] {
		t.Error("the snapshot and the journal from it on are not the whole")
	}
}

func TestRestoreFromSharesQueriesOut(t *testing.T) {
	dir := t.TempDir()
	e := open(t, ranked4, nil)
	path := filepath.Join(dir, "j")
	if err := e.Journal(path, ""); err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		play(t, e, step(1, fmt.Sprintf("query %d", i)))
	}
	if err := e.Journal("", filepath.Join(dir, "all")); err != nil {
		t.Fatal(err)
	}
	for _, source := range []map[string]any{{"journals": []string{path}}, {"checkpoints": []string{filepath.Join(dir, "all")}}} {
		total := 0
		for i := range 3 {
			source["shard"] = map[string]int{"index": i, "count": 3}
			found := restoreFrom(t, open(t, ranked4, nil), source)
			if found.Queries == 0 || found.Queries == 12 {
				t.Errorf("shard %d holds %d of 12 queries", i, found.Queries)
			}
			total += found.Queries
		}
		if total != 12 {
			t.Errorf("three shards hold %d of 12 queries", total)
		}
	}
}

func TestIdempotencyKeyIsAppliedOnce(t *testing.T) {
	dir := t.TempDir()
	e := open(t, ranked4, nil)
	if err := e.Journal(filepath.Join(dir, "j"), ""); err != nil {
		t.Fatal(err)
	}
	g := step(1, "q1")
	g["idempotency_key"] = "uid-1"
	if res := play(t, e, g); res["applied"] != true {
		t.Fatalf("first time: applied is %v", res["applied"])
	}
	want := view(t, e)
	again := step(2, "q1")
	again["idempotency_key"] = "uid-1"
	if res := play(t, e, again); res["applied"] != false || res["group_status"] != "ok" {
		t.Errorf("second time: %v", res)
	}
	if got := view(t, e); got != want {
		t.Error("the second group with a key changed the buffer")
	}
	other := open(t, ranked4, nil)
	restoreFrom(t, other, map[string]any{"journals": []string{filepath.Join(dir, "j")}})
	if res := play(t, other, again); res["applied"] != false {
		t.Error("after a restore the key is forgotten")
	}
	again["idempotency_key"] = "uid-2"
	if res := play(t, other, again); res["applied"] != true {
		t.Error("another key changes nothing")
	}
}

func TestUpdateIsJournalled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	e := open(t, ranked4, nil)
	if err := e.Journal(path, ""); err != nil {
		t.Fatal(err)
	}
	g := step(1, "q1")
	g["update"] = false
	id := play(t, e, g)["group_id"].(string)
	if err := e.Update(id); err != nil {
		t.Fatal(err)
	}
	other := open(t, ranked4, nil)
	restoreFrom(t, other, map[string]any{"journals": []string{path}})
	if got, want := view(t, other), view(t, e); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A journal that cannot be written fails no group, and says so.
func TestJournalFailureIsCounted(t *testing.T) {
	dir := t.TempDir()
	e := open(t, ranked4, nil)
	if err := e.Journal(filepath.Join(dir, "j"), ""); err != nil {
		t.Fatal(err)
	}
	if err := e.journal.file.Close(); err != nil { // every write fails from here on
		t.Fatal(err)
	}
	if res := play(t, e, step(1, "q1")); res["applied"] != true {
		t.Fatalf("applied is %v", res["applied"])
	}
	var stats struct{ Journal struct{ Errors int } }
	if err := json.Unmarshal(e.Stats(), &stats); err != nil {
		t.Fatal(err)
	}
	if stats.Journal.Errors != 1 {
		t.Errorf("journal errors: got %d, want 1", stats.Journal.Errors)
	}
	e.journal.file = nil // closed above
}

// A process may die right after it has made the file.
func TestJournalOfNothing(t *testing.T) {
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole")
	if err := open(t, ranked4, nil).Journal(whole, ""); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	for size := range len(file) + 1 {
		path := filepath.Join(dir, "cut")
		if err := os.WriteFile(path, file[:size], 0o644); err != nil {
			t.Fatal(err)
		}
		found := restoreFrom(t, open(t, ranked4, nil), map[string]any{"journals": []string{path}})
		if found.Queries != 0 || found.Torn != (size < len(file)) {
			t.Errorf("%d bytes of %d: %+v", size, len(file), found)
		}
	}
}

func TestRestoreFromBadInput(t *testing.T) {
	e := open(t, ranked4, nil)
	for _, bad := range []string{
		`{"files": []}`, `{"until": {}}`, `{"until": {"step": 1, "after_checkpoint": 1}}`,
		`{"shard": {"index": 2, "count": 2}}`, `{"shard": {"index": 0, "count": 0}}`,
	} {
		if _, err := e.RestoreFrom([]byte(bad)); fault.From(err).Code.Status() != fault.StatusInvalid {
			t.Errorf("%s: got %v, want invalid", bad, err)
		}
	}
	if _, err := e.RestoreFrom([]byte(`{"journals": ["/nonexistent/j"]}`)); !errors.Is(err, fault.FileError) {
		t.Errorf("missing file: got %v", err)
	}
}
