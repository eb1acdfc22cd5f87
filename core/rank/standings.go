package rank

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
)

// standings are the results of a round robin.
type standings struct {
	group   *Group
	players []*Candidate // by place in the group
	votes   [][]split    // votes[i][j].a is what i has against j; not done if not completed
	place   map[*Candidate]int
}

// roundRobin judges every pair of candidates as soon as both are there, all at
// once. A pair without any vote makes the group partial and is left out; a
// candidate without any pair has failed.
func (p Pairing) roundRobin(ctx context.Context, g *Group, method string, vote ballot) (standings, error) {
	var mu sync.Mutex // guards played and failures
	played := map[[2]*Candidate]split{}
	failures := map[*Candidate][]error{}
	g.EachPair(ctx, func(ctx context.Context, a, b *Candidate) {
		s, err := p.judge(ctx, g, a, b, vote)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			played[[2]*Candidate{a, b}] = s
			played[[2]*Candidate{b, a}] = split{s.b, s.a}
			return
		}
		err = fmt.Errorf("%s: pair: %w", method, err)
		g.FailCall(err)
		failures[a], failures[b] = append(failures[a], err), append(failures[b], err)
	})
	players, err := g.All(ctx)
	if err != nil {
		return standings{}, err
	}
	slices.SortFunc(players, func(a, b *Candidate) int { return cmp.Compare(a.index(), b.index()) })
	st := standings{group: g, players: players, votes: make([][]split, len(players)), place: map[*Candidate]int{}}
	for i, a := range players {
		st.place[a] = i
		st.votes[i] = make([]split, len(players))
		for j, b := range players {
			st.votes[i][j] = played[[2]*Candidate{a, b}]
		}
		if !slices.ContainsFunc(st.votes[i], split.done) {
			for _, err := range failures[a] {
				g.Fail(err, a)
			}
		}
	}
	return st, nil
}

// record is how one candidate fared against the other responses, identical ones
// counted as often as they occur. Empty ones lose to it without a call; those
// that gave the same answer as it does are not among them.
type record struct {
	wins, ties, losses float64
	missing            float64 // opponents whose comparison was not completed
}

func (st standings) record(c *Candidate) record {
	i := st.place[c]
	r := record{wins: float64(st.group.countEmpty())}
	for j, opponent := range st.players {
		s := st.votes[i][j]
		switch {
		case i == j:
		case !s.done():
			r.missing += opponent.size()
		case s.a > s.b:
			r.wins += opponent.size()
		case s.a < s.b:
			r.losses += opponent.size()
		default:
			r.ties += opponent.size()
		}
	}
	return r
}

// completed counts the comparisons that were made.
func (r record) completed() float64 { return r.wins + r.ties + r.losses }

// winRate is the share of its completed comparisons that a response won, a tie
// being half a win; it ties with responses that gave the same answer.
func (st standings) winRate(c *Candidate) float64 {
	r, same := st.record(c), c.size()-1
	if r.completed()+same == 0 {
		return 0
	}
	return (r.wins + (r.ties+same)/2) / (r.completed() + same)
}
