package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"github.com/rankbuffer/rankbuffer/core/fault"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rankbuffer/rankbuffer/core/rank"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// known are texts of quality 0..99; "t7" has quality 7.
func known() map[string]float64 {
	q := map[string]float64{}
	for i := range 100 {
		q[fmt.Sprintf("t%d", i)] = float64(i)
	}
	return q
}

// open makes an engine over the simulated judge and closes it with the test.
func open(t testing.TB, method string, judge map[string]any) *Engine {
	t.Helper()
	j := map[string]any{"type": "simulated", "qualities": known(), "backoff": 0.001}
	for k, v := range judge {
		j[k] = v
	}
	cfg, err := json.Marshal(map[string]any{"method": json.RawMessage(method), "judge": j})
	if err != nil {
		t.Fatal(err)
	}
	e, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	return e
}

const ranked4 = `{"name": "rankbuffer"}`

type group map[string]any

// of builds a group of the query with ranked responses t60, t40, t20, t10.
func of(query string, responses ...string) group {
	g := group{"query_id": query, "query": "Why " + query + "?", "ranked": []string{"t60", "t40", "t20", "t10"}}
	if len(responses) > 0 {
		g["responses"] = responses
	}
	return g
}

func (g group) with(key string, value any) group {
	g[key] = value
	return g
}

func (g group) json() []byte {
	data, err := json.Marshal(g)
	if err != nil {
		panic(err)
	}
	return data
}

func scoreNow(t testing.TB, e *Engine, g group) rank.Result {
	t.Helper()
	data, err := e.Score(t.Context(), g.json())
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, data)
}

func decode(t testing.TB, data []byte) rank.Result {
	t.Helper()
	var res rank.Result
	if err := json.Unmarshal(data, &res); err != nil {
		t.Fatal(err)
	}
	return res
}

// wait polls until the tickets have completed.
func wait(t testing.TB, e *Engine, tickets ...uint64) map[uint64]itemJSON {
	t.Helper()
	got := map[uint64]itemJSON{}
	for deadline := time.Now().Add(20 * time.Second); len(got) < len(tickets); {
		var items []itemJSON
		if err := json.Unmarshal(e.Poll(), &items); err != nil {
			t.Fatal(err)
		}
		for _, item := range items {
			if !slices.Contains(tickets, item.Ticket) {
				t.Fatalf("ticket %d completed unasked", item.Ticket)
			}
			got[item.Ticket] = item
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d groups completed", len(got), len(tickets))
		}
		time.Sleep(time.Millisecond)
	}
	return got
}

func anchors(t testing.TB, e *Engine, query string) string {
	t.Helper()
	data, err := e.Buffer(query)
	if err != nil {
		t.Fatal(err)
	}
	var view struct {
		Anchors []struct{ Text string }
	}
	if err := json.Unmarshal(data, &view); err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, a := range view.Anchors {
		texts = append(texts, a.Text)
	}
	return strings.Join(texts, " ")
}

func TestScoreUpdatesTheBuffer(t *testing.T) {
	e := open(t, ranked4, nil)
	res := scoreNow(t, e, of("q", "t5", "t70", "t30", "t50").with("step", 7))
	if res.GroupID != "q/7/0" || res.Method != "rankbuffer" || res.AnchorsBefore != 4 || res.Anchors != 6 {
		t.Errorf("result %+v", res)
	}
	if want := []float64{0, 3, 1, 2}; !slices.Equal(res.Ranks, want) {
		t.Errorf("ranks %v, want %v", res.Ranks, want)
	}
	if got, want := anchors(t, e, "q"), "t5 t10 t20 t40 t60 t70"; got != want {
		t.Errorf("buffer %s, want %s", got, want)
	}
	if res := scoreNow(t, e, group{"query_id": "q", "responses": []string{"t80"}}); res.Epoch != 1 || res.GroupID != "q/0/1" {
		t.Errorf("second group has epoch %d and id %s, want 1 and q/0/1", res.Epoch, res.GroupID)
	}
}

func TestGroupsOfAQueryTakeEffectInOrder(t *testing.T) {
	e := open(t, ranked4, map[string]any{"latency_ms": 3})
	var tickets []uint64
	for i := range 8 {
		ticket, err := e.Submit(of("q", fmt.Sprintf("t%d", 61+i), "t15").json())
		if err != nil {
			t.Fatal(err)
		}
		tickets = append(tickets, ticket)
	}
	items := wait(t, e, tickets...)
	before := 4
	for i, ticket := range tickets {
		res := decode(t, items[ticket].Result)
		if res.AnchorsBefore != before || res.Epoch != i || res.GroupID != fmt.Sprintf("q/0/%d", i) || *res.Positions[0] != before {
			t.Errorf("group %d: %d anchors before, want %d; epoch %d, id %s, position %d",
				i, res.AnchorsBefore, before, res.Epoch, res.GroupID, *res.Positions[0])
		}
		before = res.Anchors
	}
}

func TestOpenGroupEqualsWholeGroup(t *testing.T) {
	texts := []string{"t5", "t70", "t30", "t33", "t30", " ", "t35", "t90"}
	whole := scoreNow(t, open(t, ranked4, nil), of("q", texts...))
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 0))
		e := open(t, ranked4, nil)
		ticket, err := e.Open(of("q").json(), len(texts))
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range r.Perm(len(texts)) {
			data, _ := json.Marshal(texts[i])
			if err := e.Add(ticket, i, data); err != nil {
				t.Fatal(err)
			}
		}
		got := decode(t, wait(t, e, ticket)[ticket].Result)
		got.LatencyMS = whole.LatencyMS
		if !reflect.DeepEqual(got, whole) {
			t.Errorf("seed %d:\n got %+v\nwant %+v", seed, got, whole)
		}
	}
}

func TestOpenGroupOverlapsJudging(t *testing.T) {
	e := open(t, ranked4, nil)
	ticket, err := e.Open(of("q").json(), 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Add(ticket, 0, []byte(`{"text": "t30", "format_score": 1}`)); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); !strings.Contains(string(e.Stats()), `"coarse"`); {
		if time.Now().After(deadline) {
			t.Fatal("no coarse call before the last sibling came")
		}
		time.Sleep(time.Millisecond)
	}
	if err := e.Add(ticket, 1, []byte(`"t35"`)); err != nil {
		t.Fatal(err)
	}
	if res := decode(t, wait(t, e, ticket)[ticket].Result); !slices.Equal(res.Rewards, []float64{-0.8, 1}) {
		t.Errorf("rewards %v, want the format reward on the first", res.Rewards)
	}
}

func TestShortGroupsChangeNothing(t *testing.T) {
	for name, tt := range map[string]struct {
		end    func(e *Engine, ticket uint64) error
		spec   group
		status rank.Status
	}{
		"closed":   {func(e *Engine, ticket uint64) error { return e.CloseGroup(ticket) }, of("q"), rank.Cancelled},
		"deadline": {func(*Engine, uint64) error { return nil }, of("q").with("deadline_ms", 30), rank.Timeout},
	} {
		t.Run(name, func(t *testing.T) {
			e := open(t, ranked4, nil)
			ticket, err := e.Open(tt.spec.json(), 3)
			if err != nil {
				t.Fatal(err)
			}
			err = errors.Join(e.Add(ticket, 2, []byte(`"t70"`)), e.Add(ticket, 0, []byte(`"t5"`)), tt.end(e, ticket))
			if err != nil {
				t.Fatal(err)
			}
			res := decode(t, wait(t, e, ticket)[ticket].Result)
			if want := []rank.Status{rank.OK, tt.status, rank.OK}; !slices.Equal(res.Status, want) || res.GroupStatus != rank.Partial {
				t.Errorf("status %v %s, want %v partial", res.Status, res.GroupStatus, want)
			}
			if want := []float64{-1, 0, 1}; !slices.Equal(res.Rewards, want) {
				t.Errorf("rewards %v, want %v", res.Rewards, want)
			}
			if got := anchors(t, e, "q"); got != "t10 t20 t40 t60" {
				t.Errorf("buffer %s has changed", got)
			}
		})
	}
}

func TestOpenGroupHoldsItsQueryOnly(t *testing.T) {
	e := open(t, ranked4, nil)
	held, err := e.Open(of("q").json(), 1)
	if err != nil {
		t.Fatal(err)
	}
	next, err := e.Submit(of("q", "t70", "t80").json())
	if err != nil {
		t.Fatal(err)
	}
	// Other queries, validation and groups that do not update go past it.
	scoreNow(t, e, of("other", "t1", "t2"))
	v := scoreNow(t, e, of("q", "t70").with("validate", true))
	p := scoreNow(t, e, of("q", "t70", "t90").with("update", false))
	if v.AnchorsBefore != 4 || v.Rewards[0] != 1 || p.AnchorsBefore != 4 {
		t.Errorf("validation %+v, proposal %+v", v, p)
	}
	if err := e.Update(p.GroupID); !errors.Is(err, fault.Busy) {
		t.Errorf("update while a group is in flight: %v, want busy", err)
	}
	if err := e.Restore(filepath.Join(t.TempDir(), "x")); !errors.Is(err, fault.FileError) {
		t.Errorf("restore of nothing: %v, want a file error", err)
	}
	if err := e.Add(held, 0, []byte(`"t65"`)); err != nil {
		t.Fatal(err)
	}
	res := decode(t, wait(t, e, held, next)[next].Result)
	if res.AnchorsBefore != 5 {
		t.Errorf("the later group saw %d anchors, want 5", res.AnchorsBefore)
	}
}

// A response that comes too late is told apart from one that is wrong, both
// while the others are still judged and after the end.
func TestLateResponses(t *testing.T) {
	e := open(t, ranked4, map[string]any{"latency_ms": 60000})
	ticket, err := e.Open(of("q").json(), 2)
	if err != nil {
		t.Fatal(err)
	}
	late := func(when string) {
		if err := e.Add(ticket, 1, []byte(`"t5"`)); !errors.Is(err, fault.GroupEnded) || fault.From(err).Code.Status() != fault.StatusHandle {
			t.Errorf("%s: %v, want that the group has ended", when, err)
		}
	}
	f, err := e.flight(ticket)
	if err := errors.Join(err, e.Add(ticket, 0, []byte(`"t70"`))); err != nil {
		t.Fatal(err)
	}
	f.group.Close(rank.Timeout)
	late("while the other response is judged")
	if err := e.Cancel(ticket); err != nil {
		t.Fatal(err)
	}
	wait(t, e, ticket)
	late("after the end")
}

func TestMethodsWithoutBufferSaySo(t *testing.T) {
	e := open(t, `{"name": "scr"}`, nil)
	res := scoreNow(t, e, of("q", "t70", "t5").with("update", false))
	if err := e.Update(res.GroupID); !errors.Is(err, fault.StaleUpdate) || !strings.Contains(err.Error(), "the method scr keeps no buffer") {
		t.Errorf("update: %v", err)
	}
}

func TestUpdateLater(t *testing.T) {
	e := open(t, ranked4, nil)
	a := scoreNow(t, e, of("q", "t70", "t5").with("update", false))
	b := scoreNow(t, e, of("q", "t80", "t6").with("update", false))
	if a.Anchors != 4 || anchors(t, e, "q") != "t10 t20 t40 t60" {
		t.Fatalf("a group without update changed the buffer: %s", anchors(t, e, "q"))
	}
	if err := e.Update(a.GroupID); err != nil {
		t.Fatal(err)
	}
	if got := anchors(t, e, "q"); got != "t5 t10 t20 t40 t60 t70" {
		t.Errorf("buffer %s", got)
	}
	for _, id := range []string{b.GroupID, a.GroupID, "q/0/99", "nonsense"} {
		if err := e.Update(id); !errors.Is(err, fault.StaleUpdate) {
			t.Errorf("update of %q: %v, want stale", id, err)
		}
	}
}

func TestCancelAndClose(t *testing.T) {
	e := open(t, ranked4, map[string]any{"latency_ms": 60000})
	first, err1 := e.Submit(of("q", "t70", "t5").json())
	second, err2 := e.Submit(of("q", "t71", "t6").json())
	waiting, err3 := e.Open(of("r").json(), 4)
	if err := errors.Join(err1, err2, err3, e.Cancel(second)); err != nil {
		t.Fatal(err)
	}
	res := decode(t, wait(t, e, second)[second].Result) // at once, though the first still runs
	if res.GroupStatus != rank.GroupFailed || res.Status[0] != rank.Cancelled {
		t.Errorf("cancelled group: %s %v", res.GroupStatus, res.Status)
	}
	if err := e.Cancel(second); err != nil {
		t.Errorf("cancelling an ended group: %v", err)
	}
	if err := e.Cancel(999); !errors.Is(err, fault.UnknownGroup) {
		t.Errorf("cancelling a ticket never given out: %v", err)
	}
	if err := errors.Join(e.Close(t.Context()), e.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	items := wait(t, e, first, waiting)
	if res := decode(t, items[first].Result); res.Status[1] != rank.Cancelled || !slices.Equal(res.Rewards, []float64{0, 0}) {
		t.Errorf("group in flight at close: %+v", res)
	}
	if _, err := e.Submit(of("q", "t1").json()); !errors.Is(err, fault.Closed) {
		t.Errorf("submit after close: %v", err)
	}
	if err := errors.Join(e.Snapshot("x"), e.CreateBuffer(of("z").json())); !errors.Is(err, fault.Closed) {
		t.Errorf("snapshot after close: %v", err)
	}
}

// A group that ends before its turn does not let the next one past the group
// that holds the query.
func TestEndedGroupsKeepTheOrder(t *testing.T) {
	for name, tt := range map[string]struct {
		spec group
		end  func(e *Engine, ticket uint64) error
	}{
		"cancelled": {of("q", "t80", "t81"), func(e *Engine, ticket uint64) error { return e.Cancel(ticket) }},
		"deadline":  {of("q", "t80", "t81").with("deadline_ms", 10), func(*Engine, uint64) error { return nil }},
	} {
		t.Run(name, func(t *testing.T) {
			e := open(t, ranked4, nil)
			held, err1 := e.Open(of("q").json(), 2)
			gone, err2 := e.Submit(tt.spec.json())
			if err := errors.Join(err1, err2, tt.end(e, gone)); err != nil {
				t.Fatal(err)
			}
			wait(t, e, gone)
			later, err := e.Submit(of("q", "t90", "t91").json())
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(e.Add(held, 0, []byte(`"t70"`)), e.Add(held, 1, []byte(`"t5"`))); err != nil {
				t.Fatal(err)
			}
			items := wait(t, e, held, later)
			if items[held].Error != nil || items[later].Error != nil {
				t.Fatalf("errors %v and %v", items[held].Error, items[later].Error)
			}
			first, second := decode(t, items[held].Result), decode(t, items[later].Result)
			if first.AnchorsBefore != 4 || first.Anchors != 6 || second.AnchorsBefore != 6 || second.GroupID != "q/0/2" {
				t.Errorf("the first saw %d anchors, the later %d (%s)", first.AnchorsBefore, second.AnchorsBefore, second.GroupID)
			}
			if r, _ := e.store.Get("q"); r.Ordinal != 3 || r.Buffer.Groups != 2 {
				t.Errorf("ordinal %d, %d groups ranked, want 3 and 2", r.Ordinal, r.Buffer.Groups)
			}
		})
	}
}

func TestRankedResponsesLoseTheirReasoning(t *testing.T) {
	e := open(t, ranked4, nil)
	g := group{"query_id": "q", "query": "Why?", "ranked": []string{"<think>hm</think>t60", "x</think> t40"}, "responses": []string{"t60", "t70"}}
	scoreNow(t, e, g)
	if got := anchors(t, e, "q"); got != "t40 t60 t70" {
		t.Errorf("buffer %s", got)
	}
	scoreNow(t, e, g) // the same content again is no conflict
	for want, ranked := range map[string][]string{
		"ranked[1]: must not be empty": {"t1", "<think>never closed"},
		"ranked[1]: is the same text":  {"<think>a</think>t1", "<think>b</think>t1"},
	} {
		if _, err := e.Submit(of("new", "t1").with("ranked", ranked).json()); !errors.Is(err, fault.InvalidValue) || !strings.Contains(err.Error(), want) {
			t.Errorf("ranked %q: %v, want %s", ranked, err, want)
		}
	}
}

func TestStatsCountWhatCanSpread(t *testing.T) {
	e := open(t, `{"name": "pointwise"}`, nil)
	scoreNow(t, e, of("q", "t50", "t50").with("step", 3))
	scoreNow(t, e, of("q", "t90", "t1").with("step", 3))
	scoreNow(t, e, of("q", "t50").with("step", 3))
	scoreNow(t, e, of("q", "t50", "t50").with("step", 3).with("validate", true))
	var stats statsJSON
	if err := json.Unmarshal(e.Stats(), &stats); err != nil {
		t.Fatal(err)
	}
	if len(stats.Steps) != 1 || stats.Steps[0].Groups != 2 || stats.Steps[0].ZeroSpread != 0.5 {
		t.Errorf("steps %+v, want two groups of which half have no spread", stats.Steps)
	}
}

func TestDeadlines(t *testing.T) {
	for name, tt := range map[string]struct {
		judge map[string]any
		spec  group
	}{
		"deadline_ms":   {map[string]any{"latency_ms": 60000}, of("q", "t70", "t5").with("deadline_ms", 20)},
		"group_timeout": {map[string]any{"latency_ms": 60000, "group_timeout": 0.02}, of("q", "t70", "t5")},
		"timeout":       {map[string]any{"latency_ms": 60000, "timeout": 0.02, "max_retries": 0}, of("q", "t70", "t5")},
	} {
		t.Run(name, func(t *testing.T) {
			e := open(t, ranked4, tt.judge)
			res := scoreNow(t, e, tt.spec)
			if want := []rank.Status{rank.Timeout, rank.Timeout}; !slices.Equal(res.Status, want) {
				t.Errorf("status %v, want %v (%s)", res.Status, want, res.Error)
			}
			if !slices.Equal(res.Rewards, []float64{0, 0}) || anchors(t, e, "q") != "t10 t20 t40 t60" {
				t.Errorf("rewards %v, buffer %s", res.Rewards, anchors(t, e, "q"))
			}
		})
	}
}

func TestOnFailure(t *testing.T) {
	for policy, check := range map[string]func(rank.Result, error) bool{
		"mean":    func(r rank.Result, err error) bool { return err == nil && r.GroupStatus == rank.GroupFailed },
		"neutral": func(r rank.Result, err error) bool { return err == nil && slices.Equal(r.Rewards, []float64{0, 0}) },
		"raise":   func(r rank.Result, err error) bool { return fault.From(err).Code.Status() == fault.StatusJudge },
	} {
		cfg := fmt.Sprintf(`{"method": %s, "on_failure": %q, "judge": {"type": "simulated", "qualities": {"t1": 1}, "failure_rate": 1, "max_retries": 0}}`, ranked4, policy)
		e, err := New([]byte(cfg))
		if err != nil {
			t.Fatal(err)
		}
		data, err := e.Score(t.Context(), of("q", "t1", "t2").json())
		var res rank.Result
		if err == nil {
			res = decode(t, data)
		}
		if !check(res, err) {
			t.Errorf("%s: result %+v, error %v", policy, res, err)
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestAdvantageWithoutStd(t *testing.T) {
	cfg := `{"method": {"name": "rankbuffer"}, "advantage": "dr_grpo", "judge": {"type": "simulated", "qualities": {"t5": 5, "t70": 70, "t60": 60, "t40": 40, "t20": 20, "t10": 10}}}`
	e, err := New([]byte(cfg))
	if err != nil {
		t.Fatal(err)
	}
	res := scoreNow(t, e, of("q", "t5", "t70"))
	if !slices.Equal(res.Advantages, []float64{-1, 1}) {
		t.Errorf("advantages %v, want the rewards centred only", res.Advantages)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestFailuresLoseNoGroup(t *testing.T) {
	e := open(t, ranked4, map[string]any{"failure_rate": 0.4, "malformed_rate": 0.2, "max_retries": 1})
	var tickets []uint64
	for i := range 60 {
		ticket, err := e.Submit(of(fmt.Sprint("q", i%20), "t5", "t70", "t30", "t33", "t35", fmt.Sprint("t", 71+i%20)).json())
		if err != nil {
			t.Fatal(err)
		}
		tickets = append(tickets, ticket)
	}
	hurt := 0
	for _, item := range wait(t, e, tickets...) {
		res := decode(t, item.Result)
		if res.GroupStatus != rank.OK {
			hurt++
			if res.Anchors != res.AnchorsBefore || res.Error == "" {
				t.Errorf("hurt group changed the buffer or says nothing: %+v", res)
			}
		}
		for i, s := range res.Status {
			if s.Failed() && res.Advantages[i] != 0 {
				t.Errorf("failed rollout has advantage %v", res.Advantages[i])
			}
		}
	}
	if hurt == 0 || hurt == 60 {
		t.Fatalf("%d of 60 groups were hurt, the test wants some", hurt)
	}
}

func TestSnapshotRestoreGoesOnIdentically(t *testing.T) {
	run := func(e *Engine, from, to int) []rank.Result {
		var out []rank.Result
		for i := from; i < to; i++ {
			for _, q := range []string{"a", "b"} {
				res := scoreNow(t, e, of(q, fmt.Sprint("t", 61+i), "t15", "t16", "t17", fmt.Sprint("t", i)).with("step", i))
				res.LatencyMS = 0
				out = append(out, res)
			}
		}
		return out
	}
	dir := t.TempDir()
	whole := open(t, ranked4, nil)
	run(whole, 0, 3)
	if err := whole.Snapshot(filepath.Join(dir, "mid")); err != nil {
		t.Fatal(err)
	}
	want := run(whole, 3, 6)

	resumed := open(t, ranked4, nil)
	if err := resumed.Restore(filepath.Join(dir, "mid")); err != nil {
		t.Fatal(err)
	}
	if got := run(resumed, 3, 6); !reflect.DeepEqual(got, want) {
		t.Errorf("resumed run differs:\n got %+v\nwant %+v", got, want)
	}
	if err := errors.Join(whole.Snapshot(filepath.Join(dir, "1")), resumed.Snapshot(filepath.Join(dir, "2"))); err != nil {
		t.Fatal(err)
	}
	one, err1 := os.ReadFile(filepath.Join(dir, "1"))
	two, err2 := os.ReadFile(filepath.Join(dir, "2"))
	if err := errors.Join(err1, err2); err != nil || !slices.Equal(one, two) {
		t.Errorf("final snapshots differ (%v)", err)
	}
}

func TestRestoreRefusals(t *testing.T) {
	dir := t.TempDir()
	e := open(t, ranked4, nil)
	scoreNow(t, e, of("q", "t70", "t5"))
	good := filepath.Join(dir, "good")
	if err := e.Snapshot(good); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	flipped := slices.Clone(data)
	flipped[len(data)/2] ^= 1
	for name, content := range map[string][]byte{"truncated": data[:len(data)-1], "flipped": flipped, "foreign": []byte("PK\x03\x04 something else entirely, longer than a head")} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		scoreNow(t, e, of("q", "t71", "t6"))
		before := anchors(t, e, "q")
		if err := e.Restore(path); fault.From(err).Code.Status() != fault.StatusCheckpoint || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, want a checkpoint error naming the file", name, err)
		}
		if after := anchors(t, e, "q"); after != before {
			t.Errorf("%s: the buffer changed from %s to %s", name, before, after)
		}
	}
	if err := open(t, `{"name": "pointwise"}`, nil).Restore(good); fault.From(err).Code.Status() != fault.StatusCheckpoint {
		t.Errorf("restore into another method: %v", err)
	}
	held, err := e.Open(of("q").json(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Restore(good); !errors.Is(err, fault.Busy) {
		t.Errorf("restore with a group in flight: %v", err)
	}
	if err := e.Cancel(held); err != nil {
		t.Fatal(err)
	}
	wait(t, e, held)
}

// A snapshot taken while groups are in flight has each query before or after
// whole groups: every buffer must be one that scoring group by group passes.
func TestSnapshotIsAConsistentPoint(t *testing.T) {
	const queries, groups = 12, 6
	texts := func(i int) []string {
		return []string{fmt.Sprint("t", 61+i), "t15", "t16", "t17", fmt.Sprint("t", 9-i)}
	}
	step := open(t, ranked4, nil)
	passed := map[string]bool{}
	if err := step.CreateBuffer(of("q").json()); err != nil {
		t.Fatal(err)
	}
	passed[anchors(t, step, "q")] = true
	for i := range groups {
		scoreNow(t, step, of("q", texts(i)...))
		passed[anchors(t, step, "q")] = true
	}

	e := open(t, ranked4, map[string]any{"latency_ms": 1})
	var tickets []uint64
	for i := range groups {
		for q := range queries {
			ticket, err := e.Submit(of(fmt.Sprint("q", q), texts(i)...).json())
			if err != nil {
				t.Fatal(err)
			}
			tickets = append(tickets, ticket)
		}
	}
	path := filepath.Join(t.TempDir(), "snap")
	seen := map[string]bool{}
	for range 10 {
		if err := e.Snapshot(path); err != nil {
			t.Fatal(err)
		}
		r := open(t, ranked4, nil)
		if err := r.Restore(path); err != nil {
			t.Fatal(err)
		}
		for q := range queries {
			got := anchors(t, r, fmt.Sprint("q", q))
			seen[got] = true
			if !passed[got] {
				t.Fatalf("snapshot holds %s, which no whole number of groups gives", got)
			}
		}
	}
	wait(t, e, tickets...)
	if len(seen) < 2 {
		t.Errorf("all snapshots saw the same point: %v", seen)
	}
}

func TestRestoreWaitsForTheJournalToEnd(t *testing.T) {
	dir := t.TempDir()
	e := open(t, ranked4, nil)
	snap := filepath.Join(dir, "snap")
	if err := e.Journal(filepath.Join(dir, "journal"), snap); err != nil {
		t.Fatal(err)
	}
	if err := e.Restore(snap); !errors.Is(err, fault.Busy) {
		t.Errorf("restore under an open journal: %v, want busy", err)
	}
	if err := errors.Join(e.Journal("", ""), e.Restore(snap)); err != nil {
		t.Error(err)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := e.Journal(filepath.Join(dir, "late"), ""); !errors.Is(err, fault.Closed) {
		t.Errorf("journal after close: %v", err)
	}
}
