package engine

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/fault"
)

// Whatever goes wrong has a code of its own: internal is for panics alone.
func TestEveryErrorHasACode(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("no checkpoint, but long enough to have a head of 44 bytes\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	saved := filepath.Join(dir, "saved")
	other := open(t, `{"name": "scr"}`, nil)
	if err := other.Snapshot(saved); err != nil {
		t.Fatal(err)
	}
	e := open(t, ranked4, nil)
	if err := e.CreateBuffer(of("q").json()); err != nil {
		t.Fatal(err)
	}
	failing := raising(t, map[string]any{"failure_rate": 1.0, "max_retries": 0})
	mumbling := raising(t, map[string]any{"malformed_rate": 1.0, "max_retries": 0})
	slow := raising(t, map[string]any{"latency_ms": 60000, "timeout": 0.01, "max_retries": 0})
	late := raising(t, map[string]any{"latency_ms": 60000, "group_timeout": 0.01})
	closed := open(t, ranked4, nil)
	if err := closed.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()

	documents := []string{"", "{", "[]", "7", `{"colour": 1}`, `{"query_id": 7}`, `{"query_id": "n", "query": [1]}`,
		`{"query_id": "n", "query": "?", "rubrics": [{"text": ""}]}`, "{\"query_id\": \"\xff\"}", `{"query_id": "q", "query": "Other?"}`}
	calls := map[string]func(document string) error{
		"New":            func(d string) error { _, err := New([]byte(d)); return err },
		"CheckConfig":    func(d string) error { return CheckConfig([]byte(d)) },
		"CreateBuffer":   func(d string) error { return e.CreateBuffer([]byte(d)) },
		"Submit":         func(d string) error { _, err := e.Submit([]byte(d)); return err },
		"Score":          func(d string) error { _, err := e.Score(t.Context(), []byte(d)); return err },
		"Open":           func(d string) error { _, err := e.Open([]byte(d), 0); return err },
		"Add":            func(d string) error { return e.Add(999, 0, []byte(d)) },
		"Rubrics":        func(d string) error { _, err := e.Rubrics(t.Context(), []byte(d)); return err },
		"RestoreFrom":    func(d string) error { _, err := e.RestoreFrom([]byte(d)); return err },
		"PromptTemplate": func(d string) error { _, err := PromptTemplate(d); return err },
		"Buffer":         func(d string) error { _, err := e.Buffer(d); return err },
		"Update":         func(d string) error { return e.Update(d) },
	}
	errs := map[string]error{}
	for name, call := range calls {
		for _, d := range documents {
			errs[name+" "+d] = call(d)
		}
	}
	group := of("q", "t70", "t5").json()
	for name, err := range map[string]error{
		"cancel":            e.Cancel(999),
		"close group":       e.CloseGroup(999),
		"snapshot nowhere":  e.Snapshot(filepath.Join(dir, "no", "such")),
		"snapshot dir":      e.Snapshot(dir),
		"snapshot nameless": e.Snapshot(dir + "/"),
		"restore nothing":   e.Restore(filepath.Join(dir, "no")),
		"restore text":      e.Restore(text),
		"restore dir":       e.Restore(dir),
		"restore other":     e.Restore(saved),
		"journal exists":    e.Journal(text, ""),
		"journal nowhere":   e.Journal(filepath.Join(dir, "no", "such"), ""),
		"journal snapshot":  e.Journal("", dir),
		"closed check":      closed.Check(t.Context()),
		"closed journal":    closed.Journal(text, ""),
		"closed snapshot":   closed.Snapshot(text),
		"closed create":     closed.CreateBuffer(of("q").json()),
		"closed update":     closed.Update("q/0/0"),
		"closed cancel":     closed.Cancel(1),
	} {
		errs[name] = err
	}
	for name, call := range map[string]func() ([]byte, error){
		"inspect text":   func() ([]byte, error) { return Inspect(text, "") },
		"inspect nobody": func() ([]byte, error) { return Inspect(saved, "nobody") },
		"closed score":   func() ([]byte, error) { return closed.Score(t.Context(), group) },
		"closed rubrics": func() ([]byte, error) { return closed.Rubrics(t.Context(), of("q").json()) },
		"judge fails":    func() ([]byte, error) { return failing.Score(t.Context(), group) },
		"no verdict":     func() ([]byte, error) { return mumbling.Score(t.Context(), group) },
		"judge is slow":  func() ([]byte, error) { return slow.Score(t.Context(), group) },
		"group is late":  func() ([]byte, error) { return late.Score(t.Context(), group) },
		"given up":       func() ([]byte, error) { return late.Score(gone, group) },
		"no rubrics":     func() ([]byte, error) { return mumbling.Rubrics(t.Context(), of("q").json()) },
		"rubrics fail":   func() ([]byte, error) { return failing.Rubrics(t.Context(), of("q").json()) },
	} {
		_, errs[name] = call()
	}
	if len(errs) < len(calls)*len(documents)+29 {
		t.Errorf("%d cases: some have the same name", len(errs))
	}
	for name, err := range errs {
		told := fault.From(err)
		switch {
		case err == nil:
			t.Errorf("%s: no error", name)
		case told.Code == fault.Internal || told.Code.Status() >= 0:
			t.Errorf("%s: code %q of status %d: %v", name, told.Code, told.Code.Status(), err)
		case told.JSON().Message == "", told.JSON().Summary == "":
			t.Errorf("%s: no text: %+v", name, told.JSON())
		}
	}
}

// raising is a scorer whose groups fail as a whole.
func raising(t *testing.T, judge map[string]any) *Engine {
	t.Helper()
	e := open(t, ranked4, judge)
	e.policy = "raise"
	return e
}
