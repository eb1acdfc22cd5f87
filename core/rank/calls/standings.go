package calls

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/rankbuffer/rankbuffer/core/rank"
)

// Standings are the results of a round robin.
type Standings struct {
	Players []*rank.Candidate // by place in the group
	Votes   [][]Split         // Votes[i][j].A is what i has against j; not Done if not completed
	Empty   float64           // responses that lose to every player without a call
}

// RoundRobin judges every pair of candidates as soon as both are there, all at
// once. A pair without any vote makes the group partial and is left out; a
// candidate without any pair has failed.
func (p Pairing) RoundRobin(ctx context.Context, g *rank.Group, vote Ballot) (Standings, error) {
	var mu sync.Mutex // guards played and failures
	played := map[[2]*rank.Candidate]Split{}
	failures := map[*rank.Candidate][]error{}
	g.EachPair(ctx, func(ctx context.Context, a, b *rank.Candidate) {
		s, err := p.Judge(ctx, g, a, b, vote)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			played[[2]*rank.Candidate{a, b}] = s
			played[[2]*rank.Candidate{b, a}] = Split{s.B, s.A}
			return
		}
		g.FailCall(err)
		failures[a], failures[b] = append(failures[a], err), append(failures[b], err)
	})
	players, err := g.All(ctx)
	if err != nil {
		return Standings{}, err
	}
	slices.SortFunc(players, func(a, b *rank.Candidate) int { return cmp.Compare(a.Index(), b.Index()) })
	st := Standings{Players: players, Votes: make([][]Split, len(players)),
		Empty: float64(g.CountEmpty())}
	for i, a := range players {
		st.Votes[i] = make([]Split, len(players))
		for j, b := range players {
			st.Votes[i][j] = played[[2]*rank.Candidate{a, b}]
		}
		if !slices.ContainsFunc(st.Votes[i], Split.Done) {
			for _, err := range failures[a] {
				g.Fail(err, a)
			}
		}
	}
	return st, nil
}

// Place is the candidate's index among the players.
func (st Standings) Place(c *rank.Candidate) int { return slices.Index(st.Players, c) }

// Record is how one candidate fared against the other responses, identical ones
// counted as often as they occur. Empty ones lose to it without a call; those
// that gave the same answer as it does are not among them.
type Record struct {
	Wins, Ties, Losses float64
	Missing            float64 // opponents whose comparison was not completed
}

// Record adds up the candidate's row of the votes.
func (st Standings) Record(c *rank.Candidate) Record {
	i := st.Place(c)
	r := Record{Wins: st.Empty}
	for j, opponent := range st.Players {
		s := st.Votes[i][j]
		switch {
		case i == j:
		case !s.Done():
			r.Missing += opponent.Size()
		case s.A > s.B:
			r.Wins += opponent.Size()
		case s.A < s.B:
			r.Losses += opponent.Size()
		default:
			r.Ties += opponent.Size()
		}
	}
	return r
}

// Completed counts the comparisons that were made.
func (r Record) Completed() float64 { return r.Wins + r.Ties + r.Losses }

// WinRate is the share of its completed comparisons that a response won, a tie
// being half a win; it ties with responses that gave the same answer.
func (st Standings) WinRate(c *rank.Candidate) float64 {
	r, same := st.Record(c), c.Size()-1
	if r.Completed()+same == 0 {
		return 0
	}
	return (r.Wins + (r.Ties+same)/2) / (r.Completed() + same)
}
