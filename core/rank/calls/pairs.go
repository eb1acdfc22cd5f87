package calls

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/verdict"
	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/rank"
)

// Pairing holds the options of every method that judges pairs. Embedded, its
// fields are the method's own JSON fields.
type Pairing struct {
	rank.Options
	// Votes is how often each pair is judged. Votes of a pair differ in the
	// request's seed and, one by one, in who stands in slot A; they are never
	// merged into one request.
	Votes int `json:"votes"`
	// BothOrders makes every vote two calls, one in each slot order; a vote that
	// changes with the order is half a vote for either side.
	BothOrders bool `json:"both_orders"`
}

// PairDefaults returns the defaults with the given format weight.
func PairDefaults(name string, formatWeight float64) Pairing {
	return Pairing{Options: rank.Defaults(name, formatWeight), Votes: 1}
}

// Validate implements rank.Method.
func (p Pairing) Validate() error {
	return cmp.Or(fault.Within("votes", p.Votes, 1, rank.MaxRepeats), p.Options.Validate())
}

// Warnings implements rank.Method.
func (p Pairing) Warnings(temperature float64) []string {
	orders, most := "can only differ by slot order", 2
	if p.BothOrders {
		orders, most = "are all the same with both_orders", 1
	}
	if temperature == 0 && p.Votes > most {
		return []string{fmt.Sprintf("votes: %d votes at judge temperature 0 %s; set judge.temperature above 0, or votes to %d at most", p.Votes, orders, most)}
	}
	return nil
}

// Ballot is one call about the texts of two candidates shown as A and B. It
// returns how much of the vote goes to A, from 0 to 1. shape sets the request's
// seed; it may be nil.
type Ballot func(ctx context.Context, g *rank.Group, a, b *rank.Candidate, shape func(*judge.Request)) (float64, error)

// Winner is a ballot by the winner that the judge names in writing.
func Winner(kind prompt.Kind) Ballot {
	return func(ctx context.Context, g *rank.Group, a, b *rank.Candidate, shape func(*judge.Request)) (float64, error) {
		return rank.Ask(ctx, g, kind, prompt.Vars{Candidates: []string{a.Text, b.Text}}, shape,
			func(r judge.Reply) (float64, error) {
				first, err := verdict.Winner(r.Text)
				if first {
					return 1, err
				}
				return 0, err
			})
	}
}

// Split is how the completed votes on a pair divide; their sum is how many
// there were.
type Split struct{ A, B float64 }

// Done reports whether any vote was completed.
func (s Split) Done() bool { return s.A+s.B > 0 }

// Share is the part of the votes that went to A.
func (s Split) Share() float64 { return s.A / (s.A + s.B) }

// Judge takes all votes on a pair at once. Votes that failed are left out, and
// make the group partial; without any vote left the pair's failure is returned.
func (p Pairing) Judge(ctx context.Context, g *rank.Group, a, b *rank.Candidate, vote Ballot) (Split, error) {
	orders := 1
	if p.BothOrders {
		orders = 2
	}
	slots := g.Present([]*rank.Candidate{a, b}, "pair") // who stands in slot A first
	shares, errs := make([]float64, p.Votes*orders), make([]error, p.Votes*orders)
	g.Together(len(shares), func(i int) {
		inA, inB := slots[i%2], slots[1-i%2]
		share, err := vote(ctx, g, inA, inB, g.Repeat(i/orders, p.Votes))
		if err == nil {
			g.FirstWon(share, 1)
		}
		if inA != a {
			share = 1 - share
		}
		shares[i], errs[i] = share, err
	})
	var s Split
	for i := 0; i < len(shares); i += orders {
		if errors.Join(errs[i:i+orders]...) != nil {
			continue
		}
		sum := 0.0
		for _, share := range shares[i : i+orders] {
			sum += share
		}
		s.A += sum / float64(orders)
		s.B += 1 - sum/float64(orders)
	}
	err := cmp.Or(errs...)
	if err != nil && s.Done() {
		g.FailCall(err)
		err = nil
	}
	return s, err
}
