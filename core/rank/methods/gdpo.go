package methods

import (
	"context"

	"github.com/rankbuffer/rankbuffer/core/rank"
	"github.com/rankbuffer/rankbuffer/core/rank/calls"
	"github.com/rankbuffer/rankbuffer/core/reward"
)

// GDPO scores each response on one rubric at a time and normalises every
// rubric's scores within the group before it adds them up: with z_ik the
// advantage of response i on rubric k alone, r_i = sum(w_k z_ik) / sum(w_k)
// (GDPO, arXiv 2601.05242; RankBuffer, Appendix E). A rubric on which all score
// the same says nothing. An empty response counts as a score of 0.
//
// A validation group or a single response, which cannot be normalised, gets the
// weighted mean of its scores on 0 to 1, as in Explicit. The scores themselves
// are in the result's detail, "rubric_scores": for each response one 0-10 score
// a rubric, null where it was not judged.
//
// Rewards of n responses lie in ±(n-1)/sqrt(n), the largest a normalised score
// can be. One round; one call a rubric for each distinct response.
type GDPO struct{ rank.Options }

func newGDPO() rank.Method { return &GDPO{rank.Defaults("gdpo", 0.2)} }

// Check implements rank.Method.
func (m *GDPO) Check(s rank.Spec) error { return calls.NeedRubrics("gdpo", s.Query) }

// Rank implements rank.Method.
func (m *GDPO) Rank(ctx context.Context, g *rank.Group) (rank.Outcome, error) {
	scores, err := calls.RubricScores(ctx, g)
	if err != nil {
		return rank.Outcome{}, err
	}
	rubrics := g.Query.Rubrics
	byResponse := make([][]float64, g.Size)
	for c, s := range scores {
		for _, i := range c.Members {
			byResponse[i] = s
		}
	}
	g.Remark("rubric_scores", byResponse)
	if g.Validate || g.Size == 1 {
		return rank.Outcome{Rewards: g.Spread(func(c *rank.Candidate) float64 {
			return calls.WeightedMean(rubrics, scores[c]) / 10
		}, 0)}, nil
	}

	judged := g.Judged()
	normalised := make([][]float64, g.Size) // by response, then rubric
	for k := range rubrics {
		column := make([]float64, len(judged))
		for j, i := range judged {
			if byResponse[i] != nil {
				column[j] = byResponse[i][k]
			}
		}
		for j, z := range reward.Advantages(column, true) {
			normalised[judged[j]] = append(normalised[judged[j]], z)
		}
	}
	rewards := make([]float64, g.Size)
	for _, i := range judged {
		rewards[i] = calls.WeightedMean(rubrics, normalised[i])
	}
	return rank.Outcome{Rewards: rewards}, nil
}
