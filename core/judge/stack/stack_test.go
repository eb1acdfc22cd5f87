package stack_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/judgetest"
	"github.com/rankbuffer/rankbuffer/core/judge/ledger"
	"github.com/rankbuffer/rankbuffer/core/judge/options"
	"github.com/rankbuffer/rankbuffer/core/judge/stack"
	"github.com/rankbuffer/rankbuffer/core/prompt"
)

// rest is how long the pool leaves an endpoint alone that seems down.
const rest = 5 * time.Second

func ptr[T any](v T) *T { return &v }

func question(kind prompt.Kind) judge.Request {
	return judge.Request{Kind: kind, Messages: []prompt.Message{{Role: "system", Content: "rules"}, {Role: "user", Content: "question"}}}
}

// TestLimit: never more in flight than allowed, and first come, first served.
func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		inFlight, peak := 0, 0
		var order []uint64
		inner := judgetest.New(func(_ context.Context, req judge.Request) (judge.Reply, error) {
			mu.Lock()
			inFlight++
			peak = max(peak, inFlight)
			order = append(order, req.Affinity)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			inFlight--
			mu.Unlock()
			return judge.Reply{Text: "x"}, nil
		})
		j, books := stack.New(options.Judge{MaxConcurrency: 3}, inner)
		var wg sync.WaitGroup
		start := time.Now()
		for i := range 10 {
			wg.Go(func() {
				req := question(prompt.Coarse)
				req.Affinity = uint64(i)
				if _, err := j.Judge(t.Context(), req); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait() // i waits for its slot before i+1 comes
		}
		wg.Wait()
		if peak != 3 || time.Since(start) != 4*time.Second {
			t.Errorf("%d in flight at most, %v for all; want 3, 4s", peak, time.Since(start))
		}
		for i := range 9 { // those that start together may pass each other
			if order[i] > order[i+1]+2 {
				t.Errorf("served in the order %v", order)
			}
		}
		// Latency is the judge's, without the wait for a slot.
		if l := books.Report().Kinds["coarse"].Latency; l.P99 < 980 || l.P99 > 1020 {
			t.Errorf("latency %+v, want about 1000 ms", l)
		}
	})
}

// TestLimitGivesUp: who leaves the line gets no slot and is no attempt.
func TestLimitGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := judgetest.New(func(context.Context, judge.Request) (judge.Reply, error) {
			time.Sleep(time.Hour)
			return judge.Reply{Text: "x"}, nil
		})
		j, books := stack.New(options.Judge{MaxConcurrency: 1, Timeout: 7200}, inner)
		go func() { _, _ = j.Judge(t.Context(), question(prompt.Fine)) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := j.Judge(ctx, question(prompt.Fine))
		if judge.FailureOf(err) != judge.TimedOut || !strings.Contains(err.Error(), "max_concurrency") {
			t.Errorf("got %v", err)
		}
		time.Sleep(2 * time.Hour)
		if got := books.Report().Total; got.Tried != 1 || got.Succeeded != 1 {
			t.Errorf("ledger %+v, want the first call only", got)
		}
	})
}

// TestNoSlotHeldWhileWaitingToRetry: others go on during a backoff.
func TestNoSlotHeldWhileWaitingToRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		inner := judgetest.New(func(context.Context, judge.Request) (judge.Reply, error) {
			if calls++; calls == 1 {
				return judge.Reply{}, &judge.Error{Retryable: true, RetryAfter: time.Minute, Err: errors.New("busy")}
			}
			return judge.Reply{Text: "x"}, nil
		})
		j, _ := stack.New(options.Judge{MaxConcurrency: 1}, inner)
		done := make(chan error, 1)
		go func() {
			_, err := j.Judge(t.Context(), question(prompt.Fine))
			done <- err
		}()
		synctest.Wait()
		start := time.Now()
		if _, err := j.Judge(t.Context(), question(prompt.Fine)); err != nil || time.Since(start) != 0 {
			t.Errorf("waited %v: %v", time.Since(start), err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestPanicIsAnError(t *testing.T) {
	j, books := stack.New(options.Judge{}, judgetest.New(func(context.Context, judge.Request) (judge.Reply, error) { panic("bug") }))
	_, err := j.Judge(t.Context(), question(prompt.Fine))
	if judge.FailureOf(err) != judge.Failed || !strings.Contains(err.Error(), "panic while judging: bug") {
		t.Errorf("got %v", err)
	}
	if got := books.Report().Total; got.Tried != 1 || got.Failed != 1 {
		t.Errorf("ledger %+v", got)
	}
}

// TestLedger counts by kind; Tried is the sum of how attempts end.
func TestLedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := func(status int, retryable bool) judgetest.Answer {
			return judgetest.Answer{Err: &judge.Error{Failure: judge.Failed, StatusCode: status, Retryable: retryable, Err: errors.New("down")}}
		}
		say := func(text string) judgetest.Answer {
			a := judgetest.Say(text)
			a.Reply.Usage = judge.Usage{Prompt: 10, Completion: 3, Cached: 4}
			return a
		}
		j, books := stack.New(options.Judge{}, judgetest.Script(map[prompt.Kind][]judgetest.Answer{
			prompt.Coarse: {down(500, true), say("a"), say("b")}, prompt.Fine: {down(400, false), say("c")},
		}))
		tally := new(ledger.Ledger)
		for _, kind := range []prompt.Kind{prompt.Coarse, prompt.Coarse, prompt.Fine, prompt.Fine} {
			req := question(kind)
			req.Ledger = tally
			_, _ = j.Judge(t.Context(), req)
		}
		r := books.Report()
		used := func(n int) judge.Usage { return judge.Usage{Prompt: 10 * n, Completion: 3 * n, Cached: 4 * n} }
		for kind, want := range map[string]ledger.Counts{
			"coarse": {Tried: 3, Succeeded: 2, Retried: 1, Tokens: used(2)},
			"fine":   {Tried: 2, Succeeded: 1, Failed: 1, Tokens: used(1)},
		} {
			if got := r.Kinds[kind].Counts; got != want {
				t.Errorf("%s: %+v, want %+v", kind, got, want)
			}
			if got := tally.Report().Kinds[kind].Counts; got != want {
				t.Errorf("tally of %s: %+v, want %+v", kind, got, want)
			}
		}
		if want := (ledger.Counts{Tried: 5, Succeeded: 3, Retried: 1, Failed: 1, Tokens: used(3)}); r.Total != want {
			t.Errorf("total %+v, want %+v", r.Total, want)
		}
		if c := tally.Calls(); c["coarse"] != 3 || c["fine"] != 2 || len(c) != 2 {
			t.Errorf("calls %v", c)
		}
		if total := tally.Report().Total; tally.Usage() != used(3) || total.Retried != 1 || total.Failed != 1 {
			t.Errorf("tally %+v", total)
		}
	})
}

func TestPoolAffinity(t *testing.T) {
	hits := make(map[uint64]map[int]int)
	load := make([]int, 4)
	judges, names := make([]judge.Judge, 4), make([]string, 4)
	for i := range judges {
		names[i] = fmt.Sprintf("http://gpu%d:8000/v1", i)
		judges[i] = judgetest.New(func(_ context.Context, req judge.Request) (judge.Reply, error) {
			if hits[req.Affinity] == nil {
				hits[req.Affinity] = make(map[int]int)
			}
			hits[req.Affinity][i]++
			load[i]++
			return judge.Reply{Text: "x"}, nil
		})
	}
	p, _ := stack.New(options.Judge{BaseURLs: names}, judges...)
	for round := range 3 {
		for a := range uint64(1000) {
			if _, err := p.Judge(t.Context(), judge.Request{Affinity: a + 1}); err != nil {
				t.Fatal(round, err)
			}
		}
	}
	for a, at := range hits {
		if len(at) != 1 {
			t.Errorf("affinity %d went to %v", a, at)
		}
	}
	for i, n := range load {
		if n < 600 || n > 900 {
			t.Errorf("endpoint %d got %d of 3000", i, n)
		}
	}
	clear(load)
	for range 1000 {
		_, _ = p.Judge(t.Context(), judge.Request{})
	}
	if slices.Min(load) < 150 {
		t.Errorf("without affinity: %v", load)
	}
}

// TestPoolFailover: a retry goes to an endpoint that has not failed the request,
// the endpoint that failed rests, and then gets its requests back.
func TestPoolFailover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []int
		var failures [3]error
		judges := make([]judge.Judge, 3)
		for i := range judges {
			judges[i] = judgetest.New(func(context.Context, judge.Request) (judge.Reply, error) {
				asked = append(asked, i)
				return judge.Reply{Text: "x"}, failures[i]
			})
		}
		j, _ := stack.New(options.Judge{BaseURLs: []string{"a", "b", "c"}, MaxRetries: ptr(5)}, judges...)
		ask := func() (visited []int, took time.Duration, err error) {
			asked = nil
			start := time.Now()
			_, err = j.Judge(t.Context(), judge.Request{Affinity: 7})
			return asked, time.Since(start), err
		}
		visited, _, err := ask()
		if err != nil || len(visited) != 1 {
			t.Fatal(visited, err)
		}
		home := visited[0]

		down := judge.Fail(fault.JudgeUnreachable, "", "gone").Retry()
		failures[home] = down
		visited, _, err = ask()
		if err != nil || len(visited) != 2 || visited[0] != home || visited[1] == home {
			t.Fatalf("went to %v, %v; home is %d", visited, err, home)
		}
		second := visited[1]
		if visited, _, err = ask(); err != nil || !slices.Equal(visited, []int{second}) {
			t.Errorf("while home rests: went to %v, %v; want %d", visited, err, second)
		}
		time.Sleep(rest)
		failures[home] = nil
		if visited, _, err = ask(); err != nil || !slices.Equal(visited, []int{home}) {
			t.Errorf("after the rest: went to %v, %v; want %d", visited, err, home)
		}

		// Busy: its Retry-After is for it alone, another endpoint is asked at once.
		failures[home] = &judge.Error{Failure: judge.Failed, Retryable: true, StatusCode: 429, RetryAfter: time.Hour, Err: errors.New("busy")}
		visited, took, err := ask()
		if err != nil || !slices.Equal(visited, []int{home, second}) || took > time.Second {
			t.Errorf("busy: went to %v in %v, %v", visited, took, err)
		}
		time.Sleep(time.Hour)

		// All down: every one is tried before any is tried again.
		failures = [3]error{down, down, down}
		visited, _, err = ask()
		if !errors.Is(err, fault.JudgeUnreachable) || len(visited) != 6 {
			t.Errorf("all down: went to %v, %v", visited, err)
		}
		if first := slices.Sorted(slices.Values(visited[:3])); !slices.Equal(first, []int{0, 1, 2}) {
			t.Errorf("all down: went to %v", visited)
		}

		// A plain 500 gives no rest, yet its retry goes elsewhere.
		time.Sleep(rest)
		failures = [3]error{}
		failures[home] = &judge.Error{Failure: judge.Failed, Retryable: true, StatusCode: 500, Err: errors.New("oops")}
		for range 2 {
			if visited, _, err = ask(); err != nil || !slices.Equal(visited, []int{home, second}) {
				t.Errorf("after a 500: went to %v, %v", visited, err)
			}
		}

		// What no other endpoint can help is not moved.
		failures = [3]error{}
		time.Sleep(rest)
		failures[home] = &judge.Error{Failure: judge.Failed, StatusCode: 400, Err: errors.New("bad")}
		if visited, _, err = ask(); err == nil || !slices.Equal(visited, []int{home}) {
			t.Errorf("client error: went to %v, %v", visited, err)
		}
	})
}
