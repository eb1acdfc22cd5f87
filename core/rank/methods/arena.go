package methods

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/verdict"
	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/rank"
	"github.com/rankbuffer/rankbuffer/core/rank/calls"
	"github.com/rankbuffer/rankbuffer/core/reward"
)

// Arena is ArenaRL's seeded single elimination (arXiv 2601.06487; RankBuffer,
// Appendix E). The first response is the pivot: every other plays a match against
// it, which seeds the bracket. A match asks the judge in both slot orders at
// once; a side's score is the sum of its two. Final ranks are the champion's,
// then the losers' by the round in which they lost and, within a round, by their mean score
// over all matches; r = 1 - rank/(n-1).
//
// Because the first response plays more than the others, the rewards depend on
// the order of the responses. A failed match neutralises the group.
//
// Rewards lie in [0, 1]. 1 + ceil(log2 n) rounds, 4 (n-1) calls for n distinct
// responses: 4 rounds and 28 calls for 8.
type Arena struct{ rank.Options }

func newArena() rank.Method { return &Arena{rank.Defaults("arena", 0.2)} }

// Rank implements rank.Method.
func (m *Arena) Rank(ctx context.Context, g *rank.Group) (rank.Outcome, error) {
	if g.Validate || g.Size == 1 {
		return g.Unranked(ctx, 0)
	}
	seeding, err := calls.Evaluate(ctx, g, func(ctx context.Context, c *rank.Candidate) (seed, error) {
		pivot, ok := g.Leader(ctx)
		if !ok || c == pivot {
			return seed{}, nil
		}
		met, err := play(ctx, g, c, pivot, 0)
		return seed{met, err}, nil
	})
	if err != nil {
		return rank.Outcome{}, err
	}
	cs, errs := slices.Collect(maps.Keys(seeding)), []error(nil)
	for _, s := range seeding {
		errs = append(errs, s.err)
	}
	var ranked []*player
	if cmp.Or(errs...) == nil {
		ranked, errs = eliminate(ctx, g, bracket(seeded(cs, seeding)))
	}
	if cmp.Or(errs...) != nil {
		return g.Neutralised(cs, 0, errs...), nil
	}
	var tiers []rank.Tier // worst first
	for _, p := range slices.Backward(ranked) {
		tiers = append(tiers, rank.Tier{p.Candidate})
	}
	share := func(q float64, n int) float64 { return q / float64(max(1, n-1)) }
	return rank.Outcome{Rewards: g.RankRewards(tiers, share, 0)}, nil
}

// match is what the two sides of a match score, each over both slot orders.
type match struct{ a, b float64 }

// seed is a candidate's match against the pivot, or why it failed.
type seed struct {
	match
	err error
}

// play judges two candidates in both slot orders at once. The round sets the
// requests apart from those of an earlier match of the same two.
func play(ctx context.Context, g *rank.Group, a, b *rank.Candidate, round int) (match, error) {
	var scores [2]match
	var errs [2]error
	g.Together(2, func(i int) {
		shown := [][]*rank.Candidate{{a, b}, {b, a}}[i]
		scores[i], errs[i] = rank.Ask(ctx, g, prompt.Match, prompt.Vars{Candidates: rank.Texts(shown)}, g.Repeat(round, round+2),
			func(r judge.Reply) (match, error) {
				first, second, err := verdict.Match(r.Text)
				return match{first, second}, err
			})
		if errs[i] == nil {
			g.FirstWon((1+float64(cmp.Compare(scores[i].a, scores[i].b)))/2, 1)
		}
	})
	if err := cmp.Or(errs[:]...); err != nil {
		return match{}, err
	}
	return match{scores[0].a + scores[1].b, scores[0].b + scores[1].a}, nil
}

// player is a candidate in the bracket and its match scores so far.
type player struct {
	*rank.Candidate
	scores []float64
}

// byMean sorts players by mean score, best first; equals stay as they are.
func byMean(ps []*player) {
	slices.SortStableFunc(ps, func(a, b *player) int {
		return cmp.Compare(reward.Mean(b.scores), reward.Mean(a.scores))
	})
}

// seeded sorts the candidates by seed score, best first, equals by their place
// in the group. The pivot's is the mean of what it scored in its own matches and
// counts as one score from then on.
func seeded(cs []*rank.Candidate, seeding map[*rank.Candidate]seed) []*player {
	slices.SortFunc(cs, func(a, b *rank.Candidate) int { return cmp.Compare(a.Index(), b.Index()) })
	var players []*player
	var pivots []float64
	for i, c := range cs {
		p := &player{Candidate: c}
		players = append(players, p)
		if i > 0 {
			p.scores = []float64{seeding[c].a}
			pivots = append(pivots, seeding[c].b)
		}
	}
	if len(players) > 0 {
		players[0].scores = []float64{reward.Mean(pivots)}
	}
	byMean(players)
	return players
}

// bracket puts players, best first, where those of high seed meet late: from [0]
// each i becomes i, 2c-1-i at every doubling of the count c. Places beyond the
// last player are left out, so that the players beside them close up.
func bracket(players []*player) []*player {
	places := []int{0}
	for len(places) < len(players) {
		var next []int
		for _, i := range places {
			next = append(next, i, 2*len(places)-1-i)
		}
		places = next
	}
	var out []*player
	for _, i := range places {
		if i < len(players) {
			out = append(out, players[i])
		}
	}
	return out
}

// eliminate plays the rounds of the bracket and returns all players, best first.
// In a round neighbours meet, all matches at once, and a tie goes to the first;
// an odd player out goes on unplayed and, as in the authors' code, leads the next
// round.
func eliminate(ctx context.Context, g *rank.Group, in []*player) (ranked []*player, failures []error) {
	var lost [][]*player // by round
	for len(in) > 1 {
		results, errs := make([]match, len(in)/2), make([]error, len(in)/2)
		g.Together(len(results), func(i int) {
			results[i], errs[i] = play(ctx, g, in[2*i].Candidate, in[2*i+1].Candidate, len(lost)+1)
		})
		if cmp.Or(errs...) != nil {
			return nil, errs
		}
		winners, losers := slices.Clone(in[2*len(results):]), []*player(nil)
		for i, result := range results {
			a, b := in[2*i], in[2*i+1]
			a.scores, b.scores = append(a.scores, result.a), append(b.scores, result.b)
			if result.a < result.b {
				a, b = b, a
			}
			winners, losers = append(winners, a), append(losers, b)
		}
		lost = append(lost, losers)
		in = winners
	}
	ranked = in
	for _, losers := range slices.Backward(lost) {
		byMean(losers)
		ranked = append(ranked, losers...)
	}
	return ranked, nil
}
