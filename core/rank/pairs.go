package rank

import (
	"context"
	"errors"
	"fmt"

	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/verdict"
	"github.com/rankbuffer/rankbuffer/core/prompt"
)

// Pairing holds the options of every method that judges pairs. Embedded, its
// fields are the method's own JSON fields.
type Pairing struct {
	Common
	// Votes is how often each pair is judged. Votes of a pair differ in the
	// request's seed and, one by one, in who stands in slot A; they are never
	// merged into one request.
	Votes int `json:"votes"`
	// BothOrders makes every vote two calls, one in each slot order; a vote that
	// changes with the order is half a vote for either side.
	BothOrders bool `json:"both_orders"`
}

// pairing returns the defaults with the given format weight.
func pairing(name string, formatWeight float64) Pairing {
	return Pairing{Common: common(name, formatWeight), Votes: 1}
}

func (p Pairing) validate() error {
	if p.Votes < 1 || p.Votes > maxRepeats {
		return fmt.Errorf("votes: %d is not within 1..%d", p.Votes, maxRepeats)
	}
	return p.Common.validate()
}

// warnings implements warner.
func (p Pairing) warnings(temperature float64) []string {
	orders, most := "can only differ by slot order", 2
	if p.BothOrders {
		orders, most = "are all the same with both_orders", 1
	}
	if temperature == 0 && p.Votes > most {
		return []string{fmt.Sprintf("votes: %d votes at judge temperature 0 %s; set judge.temperature above 0, or votes to %d at most", p.Votes, orders, most)}
	}
	return nil
}

// ballot is one call about the texts of two candidates shown as A and B. It
// returns how much of the vote goes to A, from 0 to 1. shape sets the request's
// seed; it may be nil.
type ballot func(ctx context.Context, g *Group, a, b *Candidate, shape func(*judge.Request)) (float64, error)

// winnerBy is a ballot by the verdict that the judge writes for a kind of call.
func winnerBy(kind prompt.Kind) ballot {
	return func(ctx context.Context, g *Group, a, b *Candidate, shape func(*judge.Request)) (float64, error) {
		first, err := ask(ctx, g, kind, prompt.Vars{Candidates: texts([]*Candidate{a, b})}, shape,
			func(r judge.Reply) (bool, error) { return verdict.Winner(r.Text) })
		if first {
			return 1, err
		}
		return 0, err
	}
}

// split is how the completed votes on a pair divide; their sum is how many
// there were.
type split struct{ a, b float64 }

func (s split) done() bool { return s.a+s.b > 0 }

// share is the part of the votes that went to a.
func (s split) share() float64 { return s.a / (s.a + s.b) }

// judge takes all votes on a pair at once. Votes that failed are left out, and
// make the group partial; without any vote left the pair's failure is returned.
func (p Pairing) judge(ctx context.Context, g *Group, a, b *Candidate, vote ballot) (split, error) {
	orders := 1
	if p.BothOrders {
		orders = 2
	}
	slots := g.Present([]*Candidate{a, b}, "pair") // who stands in slot A first
	shares, errs := make([]float64, p.Votes*orders), make([]error, p.Votes*orders)
	g.Together(len(shares), func(i int) {
		inA, inB := slots[i%2], slots[1-i%2]
		share, err := vote(ctx, g, inA, inB, oneOf(g, i/orders, p.Votes))
		if err == nil {
			g.firstWon(share, 1)
		}
		if inA != a {
			share = 1 - share
		}
		shares[i], errs[i] = share, err
	})
	var s split
	for i := 0; i < len(shares); i += orders {
		if errors.Join(errs[i:i+orders]...) != nil {
			continue
		}
		sum := 0.0
		for _, share := range shares[i : i+orders] {
			sum += share
		}
		s.a += sum / float64(orders)
		s.b += 1 - sum/float64(orders)
	}
	err := firstOf(errs)
	if err != nil && s.done() {
		g.FailCall(err)
		err = nil
	}
	return s, err
}

// oneOf makes a request the i-th of several that ask the same thing: each sets
// its own seed, so that they are independent answers and no cache gives one for
// all. A request that stands alone keeps the judge's configured seed.
func oneOf(g *Group, i, several int) func(*judge.Request) {
	if several == 1 {
		return nil
	}
	seed := g.Seed + int64(i)
	return func(r *judge.Request) { r.Seed = &seed }
}

// firstOf is the first error there is.
func firstOf(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// failuresOf lists the errors there are, saying what was being done.
func failuresOf(errs []error, doing string) []error {
	var out []error
	for _, err := range errs {
		if err != nil {
			out = append(out, fmt.Errorf("%s: %w", doing, err))
		}
	}
	return out
}
