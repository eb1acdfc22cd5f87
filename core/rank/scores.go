package rank

import (
	"context"
	"fmt"
	"sync"

	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/verdict"
	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/query"
)

// evaluate finds one value per candidate, as candidates arrive, all at once. A
// candidate whose value cannot be had has failed and is not in the result.
func evaluate[T any](ctx context.Context, g *Group, value func(context.Context, *Candidate) (T, error)) (map[*Candidate]T, error) {
	var mu sync.Mutex // guards values
	values := map[*Candidate]T{}
	g.Each(ctx, func(ctx context.Context, c *Candidate) {
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

// overallScore asks for one 0-10 score by all rubrics together.
func overallScore(g *Group, method string) func(context.Context, *Candidate) (float64, error) {
	return func(ctx context.Context, c *Candidate) (float64, error) {
		s, err := ask(ctx, g, prompt.Score, prompt.Vars{Candidates: []string{c.Text}}, nil, parseScore)
		if err != nil {
			return 0, fmt.Errorf("%s: score: %w", method, err)
		}
		return s, nil
	}
}

// rubricScores asks for one 0-10 score for each rubric of the query, all at once.
func rubricScores(g *Group, method string) func(context.Context, *Candidate) ([]float64, error) {
	return func(ctx context.Context, c *Candidate) ([]float64, error) {
		rubrics := g.Query.Rubrics
		scores, errs := make([]float64, len(rubrics)), make([]error, len(rubrics))
		g.Together(len(rubrics), func(k int) {
			v := prompt.Vars{Candidates: []string{c.Text}, Rubrics: rubrics[k : k+1]}
			scores[k], errs[k] = ask(ctx, g, prompt.RubricScore, v, nil, parseScore)
		})
		for k, err := range errs {
			if err != nil {
				return nil, fmt.Errorf("%s: score by rubrics[%d]: %w", method, k, err)
			}
		}
		return scores, nil
	}
}

func parseScore(r judge.Reply) (float64, error) { return verdict.Score(r.Text) }

// weightedMean is sum(w_k z_k) / sum(w_k) (Tournament-GRPO, explicit scoring).
func weightedMean(rubrics []query.Rubric, scores []float64) float64 {
	sum, total := 0.0, 0.0
	for k, r := range rubrics {
		sum += r.Weight * scores[k]
		total += r.Weight
	}
	return sum / total
}

// needRubrics refuses a query without rubrics of its own.
func needRubrics(method string, q query.Query) error {
	if len(q.Rubrics) > 0 {
		return nil
	}
	return fmt.Errorf("rubrics: %s makes one call for each rubric, and query %q has none; give rubrics (they can be generated), or use implicit or pointwise", method, q.ID)
}
