package engine

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/rankbuffer/rankbuffer/tests/proptest"
)

// crowd sends random groups to an engine and remembers what became of them.
type crowd struct {
	t      *testing.T
	rng    *rand.Rand
	e      *Engine
	texts  map[string][]string        // of each group, by result key
	query  map[string]string          // by result key
	writes map[string]bool            // by result key: the group may change its query
	gaveUp map[string]bool            // by result key
	keys   map[uint64]string          // by ticket
	polled map[string]json.RawMessage // results that ended ok, by result key
	ended  int
}

// send starts one random group, whole or response by response.
func (c *crowd) send(n int) {
	c.t.Helper()
	key, query := fmt.Sprintf("group %d", n), fmt.Sprintf("q%d", c.rng.IntN(4))
	texts := make([]string, 2+c.rng.IntN(3))
	for i := range texts {
		texts[i] = []string{"", "<think>t1</think>"}[c.rng.IntN(2)] + fmt.Sprintf("t%d", c.rng.IntN(100))
	}
	g := of(query).with("step", n/10).with("result_key", key)
	kind := c.rng.IntN(10)
	switch kind {
	case 0:
		g["validate"] = true
	case 1:
		g["update"] = false
	case 2, 3:
		g["idempotency_key"] = fmt.Sprintf("key %d", c.rng.IntN(5))
	}
	c.texts[key], c.query[key], c.writes[key] = texts, query, kind > 1
	var ticket uint64
	var err error
	if c.rng.IntN(2) == 0 {
		ticket, err = c.e.Submit(g.with("responses", texts).json())
	} else {
		ticket, err = c.e.Open(g.json(), len(texts))
	}
	if err != nil {
		c.t.Fatal(err)
	}
	c.keys[ticket] = key
	if g["responses"] == nil {
		c.feed(ticket, texts)
	}
}

// feed adds the responses in any order; now and then the group is closed or given up.
func (c *crowd) feed(ticket uint64, texts []string) {
	c.t.Helper()
	end := c.rng.IntN(40)
	for k, i := range c.rng.Perm(len(texts)) {
		if k == 1 && end == 0 {
			_ = c.e.CloseGroup(ticket)
			return
		}
		data, _ := json.Marshal(texts[i])
		if err := c.e.Add(ticket, i, data); err != nil {
			c.t.Fatal(err)
		}
	}
	if end == 1 {
		c.gaveUp[c.keys[ticket]] = true
		_ = c.e.Cancel(ticket)
	}
}

func (c *crowd) poll() {
	c.t.Helper()
	var items []itemJSON
	if err := json.Unmarshal(c.e.Poll(), &items); err != nil {
		c.t.Fatal(err)
	}
	for _, item := range items {
		c.ended++
		if item.Error != nil {
			c.t.Fatalf("%s: %s", c.keys[item.Ticket], item.Error.Message)
		}
		if res := decode(c.t, item.Result); res.GroupStatus == "ok" {
			c.polled[c.keys[item.Ticket]] = item.Result
		}
	}
}

// killed is what the journal holds if the process dies now, and the groups whose
// results were seen before.
type killed struct {
	journal string
	seen    []string
}

func (c *crowd) kill(journal, copied string) killed {
	c.t.Helper()
	c.poll()
	k := killed{journal: copied}
	for key := range c.polled {
		k.seen = append(k.seen, key)
	}
	file, err := os.ReadFile(journal)
	if err == nil {
		err = os.WriteFile(copied, file, 0o644)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return k
}

// check holds a journal against what Poll gave, before the death or after it.
func (c *crowd) check(k killed) {
	c.t.Helper()
	got := results(c.t, ranked4, k.journal)
	for key, a := range got {
		want, ok := c.polled[key]
		if string(a.Result) != string(want) {
			c.t.Errorf("%s: %s:\ngot  %s\nwant %s", k.journal, key, a.Result, want)
		}
		if !ok || !c.writes[key] {
			c.t.Errorf("%s: %s must have no result", k.journal, key)
		}
		if !reflect.DeepEqual(a.Responses, digests(c.texts[key]...)) || a.QueryID != c.query[key] {
			c.t.Errorf("%s: %s: got %q and digests %v of %q", k.journal, key, a.QueryID, a.Responses, c.texts[key])
		}
	}
	for _, key := range k.seen {
		if _, there := got[key]; !there && c.writes[key] && !c.gaveUp[key] {
			c.t.Errorf("%s: %s was seen, and has no result: %s", k.journal, key, c.polled[key])
		}
	}
}

// Whenever the process dies, the journal answers every group whose result was
// seen, and whatever it answers is what was seen or would have been.
func TestKilledAtAnyMoment(t *testing.T) {
	seed := proptest.Seed(t)
	e, path := journalled(t, ranked4, map[string]any{"failure_rate": 0.03, "max_retries": 0, "latency_ms": 1})
	c := &crowd{
		t: t, rng: rand.New(rand.NewPCG(uint64(seed), 0)), e: e, texts: map[string][]string{}, query: map[string]string{},
		writes: map[string]bool{}, gaveUp: map[string]bool{}, keys: map[uint64]string{}, polled: map[string]json.RawMessage{},
	}
	const groups = 150
	var deaths []killed
	for n := range groups {
		c.send(n)
		if c.rng.IntN(10) == 0 {
			deaths = append(deaths, c.kill(path, filepath.Join(t.TempDir(), fmt.Sprintf("after %d", n))))
		}
	}
	for deadline := time.Now().Add(30 * time.Second); c.ended < groups; time.Sleep(time.Millisecond) {
		if c.poll(); time.Now().After(deadline) {
			t.Fatalf("%d of %d groups ended", c.ended, groups)
		}
	}
	whole := c.kill(path, filepath.Join(t.TempDir(), "at the end"))
	for _, k := range append(deaths, whole) {
		c.check(k)
	}
	fresh := open(t, ranked4, nil)
	found := restoreFrom(t, fresh, map[string]any{"journals": []string{whole.journal}})
	if got, want := view(t, fresh), view(t, e); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if n := len(found.Results); n < groups/3 || n == groups {
		t.Errorf("%d of %d groups have results: this proves little", n, groups)
	}
}
