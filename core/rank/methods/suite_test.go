package methods

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rankbuffer/rankbuffer/core/buffer"
	"github.com/rankbuffer/rankbuffer/core/rank"
	"github.com/rankbuffer/rankbuffer/core/reward"
)

// The suite runs over every row of the registry: what is said here holds for
// every method. Methods of their own only test what is particular to them.

func TestSuiteNamesOnlyRegisteredMethods(t *testing.T) {
	for name := range suite {
		if !slices.Contains(names(), name) {
			t.Errorf("%s is in the suite but not registered", name)
		}
	}
}

var sizes = []int{1, 2, 3, 8, 64}

func TestSuiteCallsRoundsAndRewards(t *testing.T) {
	const affordable = 2100 // calls: 64 responses, each pair once
	everyMethod(t, func(t *testing.T, want trait) {
		for _, n := range sizes {
			if want.calls(n) > affordable {
				continue
			}
			synctest.Test(t, func(t *testing.T) {
				c := &court{Latency: func(string) time.Duration { return time.Second }}
				group := shuffled(rand.New(rand.NewPCG(uint64(n), 1)), ascending(n))
				start := time.Now()
				res, _ := score(t, want.method(t), c, suiteSpec(), group, nil)
				if got := int(time.Since(start) / time.Second); got != want.rounds(n) {
					t.Errorf("%d responses took %d rounds, want %d", n, got, want.rounds(n))
				}
				if c.Count() != want.calls(n) || total(res.Calls) != want.calls(n) {
					t.Errorf("%d responses took %d calls, %v in the account, want %d", n, c.Count(), res.Calls, want.calls(n))
				}
				if res.GroupStatus != rank.OK {
					t.Errorf("%d responses: group %s: %s", n, res.GroupStatus, res.Error)
				}
				checkRewards(t, res, want.lo(n), want.hi(n))
				if !want.jumbled {
					checkOrder(t, res, group)
				}
				if distinct := slices.Compact(slices.Sorted(slices.Values(res.Rewards))); want.strict && len(distinct) != n {
					t.Errorf("%d responses have %d different rewards", n, len(distinct))
				}
			})
		}
	})
}

func total(calls map[string]int) int {
	n := 0
	for _, k := range calls {
		n += k
	}
	return n
}

func checkRewards(t *testing.T, res rank.Result, lo, hi float64) {
	t.Helper()
	const slack = 1e-9
	for i, r := range res.Rewards {
		if math.IsNaN(r) || r < lo-slack || r > hi+slack {
			t.Errorf("reward %d is %v, want within %v and %v", i, r, lo, hi)
		}
		if a := res.Advantages[i]; math.IsNaN(a) || math.IsInf(a, 0) {
			t.Errorf("advantage %d is %v", i, a)
		}
	}
	if _, err := json.Marshal(res); err != nil {
		t.Errorf("the result is no JSON: %v", err)
	}
}

func checkOrder(t *testing.T, res rank.Result, group []rank.Response) {
	t.Helper()
	for i := range group {
		for j := range group {
			if qualityOf(group[i].Text) > qualityOf(group[j].Text) && res.Rewards[i] < res.Rewards[j] {
				t.Errorf("%s is worth %v, less than %s with %v", group[i].Text, res.Rewards[i], group[j].Text, res.Rewards[j])
			}
		}
	}
}

func TestSuitePermutation(t *testing.T) {
	everyMethod(t, func(t *testing.T, want trait) {
		if want.seated {
			t.Skip("depends on the order of the responses by definition")
		}
		r := rand.New(rand.NewPCG(5, 5))
		group := ascending(7)
		group = append(group, group[2], rank.Response{Text: " "})
		before, _ := score(t, want.method(t), &oracle{}, suiteSpec(), group, nil)
		for range 10 {
			perm := r.Perm(len(group))
			moved := make([]rank.Response, len(group))
			for i, p := range perm {
				moved[i] = group[p]
			}
			after, _ := score(t, want.method(t), &oracle{}, suiteSpec(), moved, nil)
			for i, p := range perm {
				if math.Abs(after.Rewards[i]-before.Rewards[p]) > 1e-12 || after.Ranks[i] != before.Ranks[p] || after.Status[i] != before.Status[p] {
					t.Fatalf("permutation %v: response %d has reward %v, rank %v, before it was %v, %v",
						perm, p, after.Rewards[i], after.Ranks[i], before.Rewards[p], before.Ranks[p])
				}
			}
		}
	})
}

func TestSuiteEmptyAndIdenticalResponses(t *testing.T) {
	everyMethod(t, func(t *testing.T, want trait) {
		group := ascending(5)
		group = slices.Concat(group, []rank.Response{{Text: ""}, group[3], {Text: "<think>no end"}, group[0], group[3], {Text: "x", Ineligible: true}})
		c := &court{}
		res, _ := score(t, want.method(t), c, suiteSpec(), group, nil)
		if c.Count() != want.calls(5) {
			t.Errorf("%d calls for 5 distinct responses of %d, want %d", c.Count(), len(group), want.calls(5))
		}
		if want := []rank.Status{rank.OK, rank.OK, rank.OK, rank.OK, rank.OK, rank.Empty, rank.OK, rank.Empty, rank.OK, rank.OK, rank.Ineligible}; !slices.Equal(res.Status, want) {
			t.Errorf("status %v, want %v", res.Status, want)
		}
		checkRewards(t, res, want.lo(len(group)), want.hi(len(group)))
		for _, same := range [][]int{{3, 6, 9}, {0, 8}, {5, 7, 10}} {
			for _, i := range same {
				if res.Rewards[i] != res.Rewards[same[0]] || res.Ranks[i] != res.Ranks[same[0]] {
					t.Errorf("responses %v are the same, their rewards are %v and %v", same, res.Rewards[i], res.Rewards[same[0]])
				}
			}
		}
		if low := slices.Min(res.Rewards); res.Rewards[5] != low {
			t.Errorf("empty responses are worth %v, the lowest reward is %v", res.Rewards[5], low)
		}
	})
}

func TestSuiteNothingToJudge(t *testing.T) {
	everyMethod(t, func(t *testing.T, want trait) {
		c := &court{}
		res, next := score(t, want.method(t), c, suiteSpec(), responsesOf("", " ", "<think>"), nil)
		if c.Count() != 0 || next != nil && len(next.Anchors) != 4 {
			t.Errorf("%d calls for empty responses", c.Count())
		}
		checkFlat(t, res)

		same := responsesOf(text(4, "a"), text(4, "a"), text(4, "a"))
		res, _ = score(t, want.method(t), c, suiteSpec(), same, nil)
		if c.Count() != want.calls(1) {
			t.Errorf("%d calls for identical responses, want %d", c.Count(), want.calls(1))
		}
		checkFlat(t, res)

		res, _ = score(t, want.method(t), c, suiteSpec(), responsesOf(text(4, "a"), "", text(4, "a")), nil)
		if res.Rewards[0] != res.Rewards[2] || res.Rewards[1] > res.Rewards[0] {
			t.Errorf("one answer twice and nothing: rewards %v", res.Rewards)
		}
	})
}

func checkFlat(t *testing.T, res rank.Result) {
	t.Helper()
	if res.GroupStatus != rank.OK || slices.Min(res.Rewards) != slices.Max(res.Rewards) ||
		slices.Max(res.Advantages) != 0 || slices.Min(res.Advantages) != 0 || res.RewardStd != 0 {
		t.Errorf("%s: rewards %v, advantages %v: want no difference", res.GroupStatus, res.Rewards, res.Advantages)
	}
}

func TestSuiteWithoutDedupeEveryResponseIsJudged(t *testing.T) {
	everyMethod(t, func(t *testing.T, want trait) {
		c := &court{}
		group := ascending(3)
		group = append(group, group[1])
		score(t, want.method(t, `"dedupe": false`), c, suiteSpec(), group, nil)
		if want.name != "rankbuffer" && c.Count() != want.calls(4) { // its fine calls depend on where the responses fall
			t.Errorf("%d calls, want %d", c.Count(), want.calls(4))
		}
	})
}

func TestSuiteSingleAndValidation(t *testing.T) {
	everyMethod(t, func(t *testing.T, want trait) {
		spec := suiteSpec()
		spec.Validate = true
		group := append(ascending(4), rank.Response{})
		c := &court{}
		res, next := score(t, want.method(t), c, spec, group, nil)
		if next != nil {
			t.Error("validation changed a buffer")
		}
		if !want.absolute {
			if c.Count() != 0 || slices.Max(res.Rewards) != 0 || slices.Max(res.Rewards[:4]) != slices.Min(res.Rewards[:4]) {
				t.Errorf("%d calls, rewards %v: want none and 0, there is nothing to compare with", c.Count(), res.Rewards)
			}
			single, _ := score(t, want.method(t), c, suiteSpec(), group[2:3], nil)
			if c.Count() != 0 || single.Rewards[0] != 0 {
				t.Errorf("single: %d calls, reward %v", c.Count(), single.Rewards[0])
			}
			for _, r := range []rank.Result{res, single} {
				if r.Detail["unjudged"] == nil {
					t.Errorf("nothing says why the rewards are 0: %v", r.Detail)
				}
			}
			return
		}
		if res.Detail["unjudged"] != nil {
			t.Errorf("said not to be judged: %v", res.Detail)
		}
		checkOrder(t, res, group[:4])
		// On an absolute scale a response is worth the same alone as among others.
		for i, response := range group {
			single, _ := score(t, want.method(t), c, suiteSpec(), []rank.Response{response}, nil)
			if single.Rewards[0] != res.Rewards[i] || single.Advantages[0] != 0 {
				t.Errorf("response %d alone is worth %v, in validation %v", i, single.Rewards[0], res.Rewards[i])
			}
		}
	})
}

// The judge fails every call in turn.
func TestSuiteOneFailedCall(t *testing.T) {
	everyMethod(t, func(t *testing.T, want trait) {
		group := append(ascending(5), rank.Response{})
		c := &court{}
		score(t, want.method(t), c, suiteSpec(), group, nil)
		for _, h := range c.Heard {
			broken := &court{Down: func(key string) bool { return key == h.Key }}
			res, next := score(t, want.method(t), broken, suiteSpec(), group, nil)
			checkRewards(t, res, want.lo(len(group)), want.hi(len(group)))
			if next != nil {
				t.Error("a group with a failed call changed a buffer")
			}
			var failed []string
			for i, s := range res.Status {
				if s.Failed() {
					failed = append(failed, group[i].Text)
					if s != rank.JudgeFailed || math.Abs(res.Advantages[i]) > 1e-12 {
						t.Errorf("response %d: status %s, advantage %v, want %s and 0", i, s, res.Advantages[i], rank.JudgeFailed)
					}
				}
			}
			what := fmt.Sprintf("%s about %q", h.Kind, h.Body)
			switch d := want.hurt(h.Kind); {
			case res.Error == "" || res.GroupStatus == rank.OK:
				t.Errorf("%s failed: group %s, error %q", what, res.GroupStatus, res.Error)
			case d == pair && len(failed) != 0:
				t.Errorf("%s failed: so did %q, want nobody", what, failed)
			case d == one && (len(failed) != 1 || !slices.Contains(h.Body, failed[0])):
				t.Errorf("%s failed: so did %q, want one of those", what, failed)
			case d == all && (len(failed) != 5 || res.GroupStatus != rank.GroupFailed):
				t.Errorf("%s failed: group %s, %d responses failed, want all", what, res.GroupStatus, len(failed))
			}
		}
	})
}

func TestSuiteEveryCallFails(t *testing.T) {
	everyMethod(t, func(t *testing.T, want trait) {
		c := &court{Down: func(string) bool { return true }}
		res, next := score(t, want.method(t), c, suiteSpec(), ascending(4), nil)
		if res.GroupStatus != rank.GroupFailed || next != nil || res.Error == "" {
			t.Errorf("group %s, error %q, buffer changed: %t", res.GroupStatus, res.Error, next != nil)
		}
		if !slices.Equal(res.Rewards, make([]float64, 4)) || !slices.Equal(res.Advantages, make([]float64, 4)) {
			t.Errorf("rewards %v, advantages %v, want zeros", res.Rewards, res.Advantages)
		}
	})
}

func TestSuiteMalformedAnswersNeverPanic(t *testing.T) {
	everyMethod(t, func(t *testing.T, want trait) {
		res, next := score(t, want.method(t), &oracle{Garble: true}, suiteSpec(), ascending(4), nil)
		if res.GroupStatus != rank.GroupFailed || next != nil {
			t.Errorf("group %s, buffer changed: %t", res.GroupStatus, next != nil)
		}
	})
}

// Whatever the order in which responses come and calls return, and however many
// calls run at once, the result is the same.
func TestSuiteArrivalAndConcurrency(t *testing.T) {
	everyMethod(t, func(t *testing.T, want trait) {
		r := rand.New(rand.NewPCG(11, 3))
		group := shuffled(r, ascending(8))
		group = append(group, group[1], rank.Response{Text: "\n"}, group[6])
		for _, more := range []string{``, `"dedupe": false`} {
			plain, plainBuffer := score(t, want.method(t, more), &oracle{}, suiteSpec(), group, nil)
			for trial, seats := range []int{1, 2, 3, 64} {
				synctest.Test(t, func(t *testing.T) {
					c := &court{Latency: jitter(uint64(trial)), Seats: make(chan struct{}, seats)}
					got, gotBuffer := score(t, want.method(t, more), c, suiteSpec(), group, r.Perm(len(group)))
					if !reflect.DeepEqual(got, plain) || !reflect.DeepEqual(gotBuffer, plainBuffer) {
						t.Errorf("%s, %d calls at once:\n got %+v\nwant %+v", more, seats, got, plain)
					}
				})
			}
		}
	})
}

// Calls start as soon as the responses they need have come.
func TestSuiteCallsStartOnArrival(t *testing.T) {
	everyMethod(t, func(t *testing.T, want trait) {
		synctest.Test(t, func(t *testing.T) {
			c := &court{Latency: func(string) time.Duration { return time.Hour }} // all that starts stays in flight
			m, spec, group := want.method(t), suiteSpec(), ascending(6)
			spec.Size = len(group)
			if s, ok := m.(rank.Starter); ok {
				spec.Buffer = started(t, s, spec)
			}
			g := rank.NewGroup(spec, m.Shared(), reward.DefaultReasoning, rank.Env{Judge: c})
			done := make(chan rank.Result)
			go func() {
				res, _, err := rank.Score(t.Context(), m, g, rank.FailMean)
				if err != nil {
					t.Error(err)
				}
				done <- res
			}()
			for i, response := range group[:5] {
				if err := g.Add(i, response); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
			expect := 0
			if want.eager != nil {
				expect = want.eager(5)
			}
			if c.Count() != expect {
				t.Errorf("%d calls before the last response, want %d", c.Count(), expect)
			}
			if err := g.Add(5, group[5]); err != nil {
				t.Fatal(err)
			}
			<-done
		})
	})
}

func started(t *testing.T, s rank.Starter, spec rank.Spec) *buffer.Buffer {
	t.Helper()
	b, err := s.Start(spec.Query)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Requests that ask the same thing more than once are told apart by their seed.
func TestSuiteNoRequestIsMadeTwice(t *testing.T) {
	everyMethod(t, func(t *testing.T, want trait) {
		c := &court{}
		score(t, want.method(t), c, suiteSpec(), ascending(6), nil)
		seen := map[string]bool{}
		for _, h := range c.Heard {
			if seen[h.Key] {
				t.Errorf("asked twice: %s about %q", h.Kind, h.Body)
			}
			seen[h.Key] = true
		}
	})
}

func TestSuiteCancelled(t *testing.T) {
	everyMethod(t, func(t *testing.T, want trait) {
		synctest.Test(t, func(t *testing.T) { cancelMidway(t, want) })
	})
}

// cancelMidway gives up on a group while its first calls are in flight.
func cancelMidway(t *testing.T, want trait) {
	c, m, spec, group := &court{Latency: func(string) time.Duration { return time.Minute }}, want.method(t), suiteSpec(), ascending(4)
	spec.Size = len(group)
	if s, ok := m.(rank.Starter); ok {
		spec.Buffer = started(t, s, spec)
	}
	g := rank.NewGroup(spec, m.Shared(), reward.DefaultReasoning, rank.Env{Judge: c})
	for i, response := range group {
		if err := g.Add(i, response); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	res, next, err := rank.Score(ctx, m, g, rank.FailMean)
	if err != nil || next != nil || res.GroupStatus != rank.GroupFailed {
		t.Fatalf("group %s, error %v, buffer changed: %t", res.GroupStatus, err, next != nil)
	}
	for i, s := range res.Status {
		if s != rank.Timeout || res.Advantages[i] != 0 {
			t.Errorf("response %d: status %s, advantage %v, want %s and 0", i, s, res.Advantages[i], rank.Timeout)
		}
	}
}
