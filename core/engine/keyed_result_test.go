package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/rankbuffer/rankbuffer/core/fault"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rankbuffer/rankbuffer/core/checkpoint"
	"github.com/rankbuffer/rankbuffer/core/rank"
)

// results are what a scorer of this method finds in a journal, by result key.
func results(t *testing.T, method, journal string) map[string]KeyedResult {
	t.Helper()
	found := restoreFrom(t, open(t, method, nil), map[string]any{"journals": []string{journal}})
	byKey := map[string]KeyedResult{}
	for _, a := range found.Results {
		if _, twice := byKey[a.Key]; twice {
			t.Errorf("result key %q is there twice", a.Key)
		}
		byKey[a.Key] = a
	}
	return byKey
}

// journalled is an engine that writes a journal to the path.
func journalled(t *testing.T, method string, judge map[string]any) (e *Engine, path string) {
	t.Helper()
	e, path = open(t, method, judge), filepath.Join(t.TempDir(), "j")
	if err := e.Journal(path, ""); err != nil {
		t.Fatal(err)
	}
	return e, path
}

func digests(texts ...string) []string {
	var ds []string
	for _, text := range texts {
		ds = append(ds, checkpoint.Digest(text))
	}
	return ds
}

func TestJournalHoldsResultsOfWholeGroups(t *testing.T) {
	e, path := journalled(t, ranked4, nil)
	texts := []string{"<think>hm</think>t5", "t61", "t25", "t25"}
	g := of("q/1", texts...).with("result_key", "uid-7 \u2028 <&>")
	want, err := e.Score(t.Context(), g.json())
	if err != nil {
		t.Fatal(err)
	}
	found := restoreFrom(t, open(t, ranked4, nil), map[string]any{"journals": []string{path}})
	if len(found.Results) != 1 {
		t.Fatalf("got %+v", found)
	}
	got := found.Results[0]
	if got.Key != "uid-7 \u2028 <&>" || got.QueryID != "q/1" || !reflect.DeepEqual(got.Responses, digests(texts...)) {
		t.Errorf("got %+v", got)
	}
	out, err := json.Marshal(found) // as rb_restore_from gives it
	if err != nil || !bytes.Contains(out, append([]byte(`"result":`), want...)) {
		t.Errorf("%v\ngot  %s\nwant %s within", err, out, want)
	}
	if !decode(t, want).Applied || decode(t, want).LatencyMS == 0 {
		t.Errorf("the result is not finished: %s", want)
	}
}

// Responses of an open group come in any order, and some are refused on the way.
func TestJournalHoldsResultsOfOpenGroups(t *testing.T) {
	e, path := journalled(t, ranked4, nil)
	ticket, err := e.Open(of("q").with("result_key", "open").json(), 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		index int
		data  string
		ok    bool
	}{{2, `"t25"`, true}, {2, `"t26"`, false}, {0, `{"text": "\u00e9", "eligible": false}`, true}, {1, `7`, false}, {1, `""`, true}} {
		if err := e.Add(ticket, c.index, []byte(c.data)); (err == nil) != c.ok {
			t.Fatalf("add %d %s: %v", c.index, c.data, err)
		}
	}
	polled := wait(t, e, ticket)[ticket].Result
	got := results(t, ranked4, path)["open"]
	if string(got.Result) != string(polled) || !reflect.DeepEqual(got.Responses, digests("\u00e9", "", "t25")) {
		t.Errorf("got  %s %v\nwant %s", got.Result, got.Responses, polled)
	}
}

// A restart needs the newest results, and a long journal holds many.
func TestTheNewestResults(t *testing.T) {
	e, path := journalled(t, ranked4, nil)
	for i := range 5 {
		if _, err := e.Score(t.Context(), of("q", "t15", "t25").with("result_key", fmt.Sprint(i)).json()); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		limit any
		want  []string
	}{{0, []string{}}, {2, []string{"3", "4"}}, {5, []string{"0", "1", "2", "3", "4"}}, {9, []string{"0", "1", "2", "3", "4"}}, {nil, []string{"0", "1", "2", "3", "4"}}} {
		sources := map[string]any{"journals": []string{path}}
		if c.limit != nil {
			sources["results"] = c.limit
		}
		got := []string{}
		for _, a := range restoreFrom(t, open(t, ranked4, nil), sources).Results {
			got = append(got, a.Key)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: got %v, want %v", c.limit, got, c.want)
		}
	}
	_, err := open(t, ranked4, nil).RestoreFrom([]byte(`{"journals": [], "results": -1}`))
	if err == nil || !strings.Contains(err.Error(), "results: need at least 0, got -1") {
		t.Errorf("got %v", err)
	}
}

func TestNewestHoldsNoMoreThanItsSlack(t *testing.T) {
	limit, all := 3, []KeyedResult{}
	for i := range 20 {
		all = newest(append(all, KeyedResult{KeyedResult: checkpoint.KeyedResult{Key: fmt.Sprint(i)}}), &limit, 4)
		if len(all) > 7 || all[len(all)-1].Key != fmt.Sprint(i) || len(all) < min(i+1, 3) {
			t.Fatalf("after %d: %+v", i, all)
		}
	}
}

func TestWhichGroupsHaveResults(t *testing.T) {
	frozen := `{"name": "rankbuffer", "freeze_after_epochs": 1}`
	for _, c := range []struct {
		name   string
		method string
		group  group
		want   bool
	}{
		{"changes the buffer", ranked4, of("q", "t70", "t5"), true},
		{"with a step and a key", ranked4, of("q", "t70", "t5").with("step", 3).with("idempotency_key", "t").with("after_checkpoint", 2), true},
		{"all responses empty", ranked4, of("q", "", " "), true},
		{"method without a buffer", `{"name": "listwise"}`, of("q", "t70", "t5"), true},
		{"frozen buffer", frozen, of("q", "t70", "t5").with("epoch", 4), true},
		{"validation", ranked4, of("q", "t70", "t5").with("validate", true), false},
		{"proposes", ranked4, of("q", "t70", "t5").with("update", false), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, path := journalled(t, c.method, nil)
			c.group["result_key"] = "g"
			res, err := e.Score(t.Context(), c.group.json())
			if err != nil {
				t.Fatal(err)
			}
			got, there := results(t, c.method, path)["g"]
			if there != c.want || (there && string(got.Result) != string(res)) {
				t.Errorf("result there: %v, want %v\ngot  %s\nwant %s", there, c.want, got.Result, res)
			}
		})
	}
}

// Without a result key nothing more is written.
func TestNoKeyNoResult(t *testing.T) {
	e, path := journalled(t, ranked4, nil)
	scoreNow(t, e, of("q", "t70", "t5"))
	found := restoreFrom(t, open(t, ranked4, nil), map[string]any{"journals": []string{path}})
	if found.Entries != 1 || found.Results == nil || len(found.Results) != 0 {
		t.Errorf("got %+v, want one entry and an empty list", found)
	}
}

// A group that is partial, failed or given up may be judged again: it changed nothing.
func TestFailedGroupsHaveNoResult(t *testing.T) {
	e, path := journalled(t, ranked4, map[string]any{"failure_rate": 1.0, "max_retries": 0})
	if res := scoreNow(t, e, of("failed", "t70", "t5").with("result_key", "failed")); res.GroupStatus == "ok" {
		t.Fatalf("group status %s", res.GroupStatus)
	}
	short, err := e.Open(of("partial").with("result_key", "partial").json(), 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.CloseGroup(short); err != nil {
		t.Fatal(err)
	}
	gone, err := e.Open(of("gone").with("result_key", "gone").json(), 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Cancel(gone); err != nil {
		t.Fatal(err)
	}
	wait(t, e, short, gone)
	if got := results(t, ranked4, path); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

// A group with a known idempotency key is scored, changes nothing, and its rewards count.
func TestKnownKeyHasAResult(t *testing.T) {
	e, path := journalled(t, ranked4, nil)
	scoreNow(t, e, of("q", "t70", "t5").with("idempotency_key", "t").with("result_key", "first"))
	want := view(t, e)
	res := scoreNow(t, e, of("q", "t71", "t6").with("idempotency_key", "t").with("result_key", "second"))
	got, there := results(t, ranked4, path)["second"]
	if res.Applied || !there || !reflect.DeepEqual(decode(t, got.Result), res) {
		t.Errorf("got %s, want %+v", got.Result, res)
	}
	other := open(t, ranked4, nil)
	restoreFrom(t, other, map[string]any{"journals": []string{path}})
	if view(t, other) != want || view(t, e) != want {
		t.Error("the second group with a key changed the record")
	}
}

func TestResultsKeepToUntilAndShard(t *testing.T) {
	e, path := journalled(t, ranked4, nil)
	queries := []string{"q1", "q2", "q3"}
	for n := 1; n <= 3; n++ {
		for _, q := range queries {
			play(t, e, step(n, q).with("after_checkpoint", n-1).with("result_key", fmt.Sprintf("%s/%d", q, n)))
		}
	}
	keys := func(from map[string]any) (all []string) {
		from["journals"] = []string{path}
		for _, a := range restoreFrom(t, open(t, ranked4, nil), from).Results {
			if !strings.HasPrefix(a.Key, a.QueryID+"/") {
				t.Errorf("result key %q with query %q", a.Key, a.QueryID)
			}
			all = append(all, a.Key)
		}
		return all
	}
	two := []string{"q1/1", "q2/1", "q3/1", "q1/2", "q2/2", "q3/2"}
	if got := keys(map[string]any{"until": map[string]int{"step": 2}}); !reflect.DeepEqual(got, two) {
		t.Errorf("step 2: %v", got)
	}
	if got := keys(map[string]any{"until": map[string]int{"after_checkpoint": 2}}); !reflect.DeepEqual(got, two) {
		t.Errorf("after checkpoint 2: %v", got)
	}
	total := 0
	for i := range 2 {
		shard := shardJSON{Index: i, Count: 2}
		for _, key := range keys(map[string]any{"shard": shard}) {
			if total++; !shard.holds(key[:2]) {
				t.Errorf("shard %d has %s", i, key)
			}
		}
	}
	if total != 9 {
		t.Errorf("the shards have %d of 9 groups", total)
	}
}

func TestResultKeyLimit(t *testing.T) {
	e := open(t, ranked4, nil)
	scoreNow(t, e, of("q", "t70", "t5").with("result_key", strings.Repeat("\u00e9", 256)))
	for _, bad := range []any{strings.Repeat("\u00e9", 256) + "x", 7} {
		if _, err := e.Submit(of("q", "t70", "t5").with("result_key", bad).json()); !errors.Is(err, fault.InvalidValue) || !strings.Contains(err.Error(), "result_key") {
			t.Errorf("%v: got %v", bad, err)
		}
	}
}

// A group may be given up after its last call has come back: it ends ok and has
// changed nothing.
func TestGivenUpAtTheEndHasNoResult(t *testing.T) {
	for cause, want := range map[error]int{context.Canceled: 0, context.DeadlineExceeded: 1} {
		e, path := journalled(t, ranked4, nil)
		f, err := e.prepare(of("q", "t70", "t5").with("result_key", "g").json(), -1)
		if err != nil {
			t.Fatal(err)
		}
		e.mu.Lock()
		err = e.admit(f)
		e.mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		r, _ := e.store.Get("q")
		f.group.Buffer = r.Buffer
		_, f.after = e.queueOf("q").enter()
		f.ctx, f.cancel = context.WithCancelCause(t.Context())
		f.cancel(cause)
		e.settle(f, &completed{result: rank.Result{GroupStatus: rank.OK}}, r.Buffer.Count(1))
		if got := results(t, ranked4, path); len(got) != want {
			t.Errorf("%v: got %v, want %d groups", cause, got, want)
		}
	}
}

// Whoever finds a group complete must find the digests of all responses.
func TestDigestsAreThereWhenTheGroupIsComplete(t *testing.T) {
	e, path := journalled(t, ranked4, nil)
	ticket, err := e.Open(of("q").with("result_key", "g").json(), 1)
	if err != nil {
		t.Fatal(err)
	}
	f, err := e.flight(ticket)
	if err != nil {
		t.Fatal(err)
	}
	added := make(chan error)
	f.handed.mu.Lock() // nothing can be noted down
	go func() { added <- e.Add(ticket, 0, []byte(`"t25"`)) }()
	select {
	case <-f.group.Complete():
		t.Error("complete before its digests are")
	case <-time.After(20 * time.Millisecond):
	}
	f.handed.mu.Unlock()
	if err := <-added; err != nil {
		t.Fatal(err)
	}
	wait(t, e, ticket)
	if got := results(t, ranked4, path)["g"].Responses; !reflect.DeepEqual(got, digests("t25")) {
		t.Errorf("got %v", got)
	}
}
