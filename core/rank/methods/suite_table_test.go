package methods

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/rank"
)

// trait is what the suite holds a method to, with some options. n is a number of
// distinct responses, g one of all responses.
type trait struct {
	name     string
	options  string          // further options as JSON
	calls    func(n int) int // calls for n distinct responses
	rounds   func(n int) int // dependent rounds of calls
	lo, hi   func(g int) float64
	eager    func(n int) int // calls made once n have come and others are awaited; nil: none
	absolute bool            // scores validation groups and single responses on a scale of its own
	strict   bool            // an exact judge's rewards tell any two responses apart
	jumbled  bool            // an exact judge may still put a better response below a worse one
	seated   bool            // the rewards depend on the order of the responses by definition
	hurt     func(prompt.Kind) damage
}

// damage is what one failed call does to a group of several.
type damage string

const (
	pair damage = "pair" // nobody fails, the group is partial
	one  damage = "one"  // the response it was about fails
	all  damage = "all"  // the group fails
)

func always(d damage) func(prompt.Kind) damage { return func(prompt.Kind) damage { return d } }

func constant[T any](v T) func(int) T { return func(int) T { return v } }

// compared makes a count 0 for a single response.
func compared(count func(n int) int) func(int) int {
	return func(n int) int {
		if n < 2 {
			return 0
		}
		return count(n)
	}
}

// each and pairs of n, v times.
func each(v int) func(int) int  { return func(n int) int { return v * n } }
func pairs(v int) func(int) int { return func(n int) int { return v * n * (n - 1) / 2 } }

func log2ceil(n int) int {
	k := 0
	for 1<<k < n {
		k++
	}
	return k
}

// roundRobinTrait fits the methods that judge every pair.
func roundRobinTrait(options string, votes int, lo, hi func(int) float64) trait {
	return trait{options: options, calls: pairs(votes), rounds: compared(constant(1)), lo: lo, hi: hi,
		eager: pairs(votes), strict: true, hurt: always(pair)}
}

// pointwiseTrait fits the methods that judge every response alone.
func pointwiseTrait(options string, calls int, hi float64) trait {
	return trait{options: options, calls: each(calls), rounds: constant(1), lo: constant(0.0), hi: constant(hi),
		eager: each(calls), absolute: true, hurt: always(one)}
}

// tournamentCalls counts the groups of one repeat, round by round.
func tournamentCalls(size, kWin, kFinal int) (calls, rounds func(n int) int) {
	count := func(n int) (calls, rounds int) {
		for n > kFinal {
			groups, left := max(1, n/size), 0
			for i := range groups {
				members := (n - i + groups - 1) / groups
				left += min(kWin, members-1)
			}
			calls, rounds, n = calls+groups, rounds+1, left
		}
		return calls, rounds
	}
	return func(n int) int { c, _ := count(n); return c }, func(n int) int { _, r := count(n); return r }
}

func tournamentTrait(options string, size, kWin, kFinal, repeats int) trait {
	calls, rounds := tournamentCalls(size, kWin, kFinal)
	return trait{options: options, calls: compared(func(n int) int { return repeats * calls(n) }), rounds: compared(rounds),
		lo: constant(0.0), hi: constant(1.0), jumbled: true,
		hurt: always(map[bool]damage{true: all, false: pair}[repeats == 1])}
}

func rankBufferTrait(options string, calls, rounds func(int) int) trait {
	return trait{options: options, calls: calls, rounds: rounds, lo: constant(-1.0), hi: constant(1.0),
		eager: each(1), absolute: true, strict: options == "", hurt: func(k prompt.Kind) damage {
			if k == prompt.Fine {
				return pair
			}
			return one
		}}
}

// suite is every registered method; several entries are several options.
var suite = map[string][]trait{
	"rankbuffer": {
		rankBufferTrait(``, func(n int) int { return n + sharedIntervals(n) }, func(n int) int { return 1 + min(1, sharedIntervals(n)) }),
		rankBufferTrait(`"coarse_only": true`, each(1), constant(1)),
		rankBufferTrait(`"order_only": true`, func(n int) int { return n + min(1, n/2) }, func(n int) int { return min(2, n) }),
	},
	"scr": {
		roundRobinTrait(``, 1, constant(0.0), times(0.1)),
		roundRobinTrait(`"votes": 3, "alpha": 1`, 3, constant(0.0), times(1)),
		roundRobinTrait(`"votes": 2, "aggregate": "cara"`, 2, constant(0.0), times(0.1)),
		roundRobinTrait(`"both_orders": true`, 2, constant(0.0), times(0.1)),
	},
	"agr": {
		damaged(pointwiseTrait(``, 7, 0.7), pair),
		damaged(pointwiseTrait(`"votes": 2, "both_orders": true, "anchors": ["a q=9", "b q=2.5"]`, 8, 0.2), pair),
		{options: `"search": "binary"`, calls: each(3), rounds: constant(3), lo: constant(0.0), hi: constant(0.7),
			eager: each(1), absolute: true, hurt: always(one)},
	},
	"prc": {
		pointwiseTrait(``, 1, 1),
		damaged(pointwiseTrait(`"votes": 3, "reasoning": true`, 3, 1), pair),
		damaged(pointwiseTrait(`"votes": 2, "aggregate": "majority"`, 2, 1), pair),
		pointwiseTrait(`"aggregate": "majority", "reasoning": true, "both_orders": true`, 2, 1),
	},
	"genrm": {pointwiseTrait(``, 1, 1)},
	"tournament": {
		tournamentTrait(``, 2, 1, 1, 3),
		tournamentTrait(`"group_size": 4, "k_win": 2, "k_final": 2, "repeats": 2`, 4, 2, 2, 2),
		tournamentTrait(`"group_size": 3, "repeats": 1, "round_weights": [1, 2.5]`, 3, 1, 1, 1),
	},
	"arena": {{
		calls: func(n int) int { return 4 * (n - 1) }, rounds: compared(func(n int) int { return 1 + log2ceil(n) }),
		lo: constant(0.0), hi: constant(1.0), eager: func(n int) int { return 2 * (n - 1) }, jumbled: true, seated: true, hurt: always(all),
	}},
	"pairwise": {
		roundRobinTrait(``, 1, constant(-1.0), constant(1.0)),
		roundRobinTrait(`"votes": 3, "both_orders": true`, 6, constant(-1.0), constant(1.0)),
	},
	"winrate": {
		roundRobinTrait(``, 1, constant(0.0), constant(1.0)),
		roundRobinTrait(`"both_orders": true`, 2, constant(0.0), constant(1.0)),
	},
	"pointwise": {
		bounded(pointwiseTrait(``, 1, 1), -1),
		bounded(pointwiseTrait(`"rank_transform": true`, 1, 1), -1),
	},
	"gdpo": {{
		calls: each(2), rounds: constant(1), eager: each(2), absolute: true, hurt: always(one),
		lo: func(g int) float64 { return -spread(g) }, hi: spread,
	}},
	"implicit": {pointwiseTrait(``, 1, 1), pointwiseTrait(`"scale": 10`, 1, 10)},
	"explicit": {pointwiseTrait(``, 2, 1), pointwiseTrait(`"scale": 10`, 2, 10)},
	"listwise": {
		{calls: compared(constant(1)), rounds: compared(constant(1)), lo: constant(-1.0), hi: constant(1.0), strict: true, hurt: always(all)},
		{options: `"repeats": 3`, calls: compared(constant(3)), rounds: compared(constant(1)), lo: constant(-1.0), hi: constant(1.0), strict: true, hurt: always(all)},
	},
}

func times(alpha float64) func(int) float64 {
	return func(g int) float64 { return alpha * float64(g-1) }
}

func bounded(t trait, lo float64) trait {
	t.lo = constant(lo)
	return t
}

func damaged(t trait, d damage) trait {
	t.hurt = always(d)
	return t
}

// spread is the largest value of a normalised score, at least the 1 of the scale
// that single responses are scored on.
func spread(g int) float64 { return max(1, float64(g-1)/math.Sqrt(float64(g))) }

// sharedIntervals counts the intervals between anchors 1, 3, 5 and 7 that two or
// more of ascending(n) fall into.
func sharedIntervals(n int) int {
	var in [5]int
	for i := range n {
		p := 0
		for _, anchor := range []float64{1, 3, 5, 7} {
			if anchor < qualityAt(i) {
				p++
			}
		}
		in[p]++
	}
	shared := 0
	for _, k := range in {
		if k > 1 {
			shared++
		}
	}
	return shared
}

func shuffled(r *rand.Rand, responses []rank.Response) []rank.Response {
	out := slices.Clone(responses)
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// everyMethod runs a test for each registered method and set of options.
func everyMethod(t *testing.T, test func(t *testing.T, want trait)) {
	for _, row := range Rows() {
		if len(suite[row.Name]) == 0 {
			t.Errorf("method %s is registered, but suite in suite_table_test.go does not say what it must do", row.Name)
		}
		for _, want := range suite[row.Name] {
			want.name = row.Name
			t.Run(row.Name+" "+want.options, func(t *testing.T) { test(t, want) })
		}
	}
}

// method makes the method, with more options.
func (want trait) method(t testing.TB, more ...string) rank.Method {
	t.Helper()
	options := fmt.Sprintf(`{"name": %q`, want.name)
	for _, o := range append([]string{want.options}, more...) {
		if o != "" {
			options += ", " + o
		}
	}
	return method(t, options+"}")
}
