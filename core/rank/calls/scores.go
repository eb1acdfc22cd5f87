package calls

import (
	"context"
	"fmt"
	"sync"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/verdict"
	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/query"
	"github.com/rankbuffer/rankbuffer/core/rank"
)

// Evaluate finds one value per candidate, as candidates arrive, all at once. A
// candidate whose value cannot be had has failed and is not in the result.
func Evaluate[T any](ctx context.Context, g *rank.Group, value func(context.Context, *rank.Candidate) (T, error)) (map[*rank.Candidate]T, error) {
	var mu sync.Mutex // guards values
	values := map[*rank.Candidate]T{}
	g.Each(ctx, func(ctx context.Context, c *rank.Candidate) {
		v, err := value(ctx, c)
		if err != nil {
			g.Fail(err, c)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		values[c] = v
	})
	_, err := g.All(ctx)
	return values, err
}

// Scores asks for one score from 0 to 10 for each candidate, by all rubrics
// together.
func Scores(ctx context.Context, g *rank.Group) (map[*rank.Candidate]float64, error) {
	return Evaluate(ctx, g, func(ctx context.Context, c *rank.Candidate) (float64, error) {
		return rank.Ask(ctx, g, prompt.Score, prompt.Vars{Candidates: []string{c.Text}}, nil, parseScore)
	})
}

// RubricScores asks for one score from 0 to 10 for each candidate and each rubric
// of the query, all at once.
func RubricScores(ctx context.Context, g *rank.Group) (map[*rank.Candidate][]float64, error) {
	rubrics := g.Query.Rubrics
	return Evaluate(ctx, g, func(ctx context.Context, c *rank.Candidate) ([]float64, error) {
		scores, errs := make([]float64, len(rubrics)), make([]error, len(rubrics))
		g.Together(len(rubrics), func(k int) {
			v := prompt.Vars{Candidates: []string{c.Text}, Rubrics: rubrics[k : k+1]}
			scores[k], errs[k] = rank.Ask(ctx, g, prompt.RubricScore, v, nil, parseScore)
		})
		for k, err := range errs {
			if err != nil {
				return nil, fmt.Errorf("rubrics[%d]: %w", k, err)
			}
		}
		return scores, nil
	})
}

func parseScore(r judge.Reply) (float64, error) { return verdict.Score(r.Text) }

// WeightedMean is sum(w_k z_k) / sum(w_k) (Tournament-GRPO, explicit scoring).
func WeightedMean(rubrics []query.Rubric, scores []float64) float64 {
	sum, total := 0.0, 0.0
	for k, r := range rubrics {
		sum += r.Weight * scores[k]
		total += r.Weight
	}
	return sum / total
}

// NeedRubrics refuses a query without rubrics of its own.
func NeedRubrics(method string, q query.Query) error {
	if len(q.Rubrics) > 0 {
		return nil
	}
	return fault.New(fault.MissingField, "rubrics", "%s makes one call for each rubric, and the query has none; "+
		"give rubrics (they can be generated), or use implicit or pointwise", method)
}
