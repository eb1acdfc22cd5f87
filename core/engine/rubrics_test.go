package engine

import (
	"context"
	"encoding/json"
	"errors"
	"github.com/rankbuffer/rankbuffer/core/fault"
	"strings"
	"testing"
	"time"

	"github.com/rankbuffer/rankbuffer/core/query"
)

func TestRubrics(t *testing.T) {
	e := open(t, ranked4, nil)
	data, err := e.Rubrics(t.Context(), []byte(`{"query_id": "q", "query": "Why?", "ranked": ["t60", "t10"]}`))
	var rubrics []query.Rubric
	if err := errors.Join(err, json.Unmarshal(data, &rubrics)); err != nil || len(rubrics) < 3 || rubrics[0].Weight != 5 {
		t.Fatalf("%s, %v", data, err)
	}
	if _, err := e.Buffer("q"); !errors.Is(err, fault.UnknownQuery) {
		t.Errorf("writing rubrics made the query known: %v", err)
	}
	for given, want := range map[string]string{
		`{"query_id": "q", "query": "Why?"}`:                    "ranked",
		`{"query_id": "q", "ranked": ["a", "b"]}`:               "query",
		`{"query_id": "q", "query": "Why?", "rubric": []}`:      "rubric",
		`{"query_id": "q", "query": "Why?", "ranked": ["one"]}`: "ranked",
	} {
		if _, err := e.Rubrics(t.Context(), []byte(given)); fault.From(err).Code.Status() != fault.StatusInvalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want invalid and %s named", given, err, want)
		}
	}
}

func TestStatsWarnOfVotesThatCannotDiffer(t *testing.T) {
	for cfg, want := range map[string]bool{
		`{"method": {"name": "scr", "votes": 3}, "judge": {"base_url": "http://localhost:1/v1", "model": "m"}}`:                     true,
		`{"method": {"name": "scr", "votes": 3}, "judge": {"base_url": "http://localhost:1/v1", "model": "m", "temperature": 0.7}}`: false,
		`{"method": {"name": "scr"}, "judge": {"base_url": "http://localhost:1/v1", "model": "m"}}`:                                 false,
		`{"method": {"name": "scr", "votes": 3}, "judge": {"type": "simulated", "qualities": {"a": 1}}}`:                            false,
	} {
		e, err := New([]byte(cfg))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(e.Stats()), `"warnings":["votes: `); got != want {
			t.Errorf("%s: warned %t, want %t: %s", cfg, got, want, e.Stats())
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestRubricsEnd(t *testing.T) {
	const q = `{"query_id": "q", "query": "Why?", "ranked": ["t60", "t10"]}`
	slow := open(t, ranked4, map[string]any{"latency_ms": 3600_000})
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	cancel()
	if _, err := slow.Rubrics(ctx, []byte(q)); !errors.Is(err, fault.Cancelled) {
		t.Errorf("cancelled: %v", err)
	}
	done := make(chan error)
	go func() {
		_, err := slow.Rubrics(context.Background(), []byte(q))
		done <- err
	}()
	if err := slow.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-done; !errors.Is(err, fault.Cancelled) && !errors.Is(err, fault.Closed) {
		t.Errorf("closed: %v", err)
	}
	if _, err := slow.Rubrics(t.Context(), []byte(q)); !errors.Is(err, fault.Closed) {
		t.Errorf("after closing: %v", err)
	}
	broken := open(t, ranked4, map[string]any{"failure_rate": 1, "max_retries": 0})
	if _, err := broken.Rubrics(t.Context(), []byte(q)); fault.From(err).Code.Status() != fault.StatusJudge {
		t.Errorf("judge down: %v", err)
	}
}
