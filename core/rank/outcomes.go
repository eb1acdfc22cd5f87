package rank

import "context"

// Unranked is the outcome of a method that only compares, where there is nothing
// to compare with: in validation and for a single response. Everything is worth
// 0, empty responses the lowest reward of the method.
func (g *Group) Unranked(ctx context.Context, empty float64) (Outcome, error) {
	if _, err := g.All(ctx); err != nil {
		return Outcome{}, err
	}
	if g.Validate {
		return g.Unjudged(empty, "the method only compares the responses of a group, which validation does not"), nil
	}
	return g.Unjudged(empty, "the method only compares the responses of a group, and this one has a single response"), nil
}

// Unjudged is the outcome of a group that nothing is asked about. It says so:
// rewards of 0 with the status ok look like a judge that found all equal.
func (g *Group) Unjudged(empty float64, why string) Outcome {
	g.Remark("unjudged", why+": rewards are 0")
	return g.zeros(empty)
}

// Neutralised is the outcome of a group in which calls failed on which every
// reward depends. Failures that are nil are left out.
func (g *Group) Neutralised(cs []*Candidate, empty float64, failures ...error) Outcome {
	for _, err := range failures {
		if err != nil {
			g.Fail(err, cs...)
		}
	}
	return g.zeros(empty)
}

// Refused is the outcome of a group that cannot be judged at all. It waits for
// the responses, which the caller is still to hand in.
func (g *Group) Refused(ctx context.Context, why error) (Outcome, error) {
	cs, err := g.All(ctx)
	if err != nil {
		return Outcome{}, err
	}
	return g.Neutralised(cs, 0, why), nil
}

func (g *Group) zeros(empty float64) Outcome {
	return Outcome{Rewards: g.Spread(func(*Candidate) float64 { return 0 }, empty)}
}
