package rank

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/verdict"
	"github.com/rankbuffer/rankbuffer/core/prompt"
)

// PRC is probability-based reward construction (RRC, equation 3): the reward is
// the probability that the judge prefers the response over one reference
// response, read from the log-probabilities of its label token; with Reasoning,
// of the token that follows its written reasoning. With several votes it is
// their mean (soft aggregation), or with Aggregate majority the share of votes
// for the response, which needs no log-probabilities.
//
// The paper shows the response in slot A; as everywhere in RRC's experiments the
// slots are randomised here. A response identical to the reference is worth 0.5
// without a call. The scale is absolute, so validation groups and single
// responses are scored the same way.
//
// Rewards lie in [0, 1]. One round; votes calls a distinct response, twice that
// with both orders.
type PRC struct {
	Pairing
	Aggregate string `json:"aggregate"` // soft or majority
	Reasoning bool   `json:"reasoning"` // the judge reasons in writing before it answers
}

func newPRC() Method {
	return &PRC{Pairing: pairing("prc", 1), Aggregate: "soft"}
}

func (m *PRC) validate() error {
	if m.Aggregate != "soft" && m.Aggregate != "majority" {
		return fmt.Errorf("aggregate: %q is not one of soft, majority", m.Aggregate)
	}
	return m.Pairing.validate()
}

// Check implements Method.
func (m *PRC) Check(s Spec) error {
	if strings.TrimSpace(s.Reference) == "" {
		return fmt.Errorf("reference: prc compares each response with a reference response, and the group gives none")
	}
	return nil
}

// Rank implements Method.
func (m *PRC) Rank(ctx context.Context, g *Group) (Outcome, error) {
	answer := g.reasoning.Answer(g.Reference)
	if strings.TrimSpace(answer) == "" {
		return refused(ctx, g, fmt.Errorf("prc: reference: has no answer after its reasoning"))
	}
	reference, vote := outsider(answer), m.ballot()
	preferred, err := evaluate(ctx, g, func(ctx context.Context, c *Candidate) (float64, error) {
		if c.Text == reference.Text {
			return 0.5, nil
		}
		s, err := m.judge(ctx, g, c, reference, vote)
		if err != nil {
			return 0, fmt.Errorf("prc: preference: %w", err)
		}
		return rounded(s.share()), nil
	})
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{Rewards: g.Spread(func(c *Candidate) float64 { return preferred[c] }, 0)}, nil
}

// rounded takes away the last digits, in which 1 - 0.1 and 0.9 differ: equal
// probabilities must give equal rewards whichever slot the response stood in.
func rounded(p float64) float64 { return math.Round(p*1e12) / 1e12 }

// ballot asks in the way the options say.
func (m *PRC) ballot() ballot {
	switch {
	case m.Aggregate == "majority" && m.Reasoning:
		return winnerBy(prompt.Reasoned)
	case m.Aggregate == "majority":
		return winnerBy(prompt.Pair)
	case m.Reasoning:
		return probabilityBy(prompt.Reasoned, verdict.Reasoned)
	default:
		return probabilityBy(prompt.Preference, verdict.Preference)
	}
}

// probabilityBy is a ballot by the probability of naming A.
func probabilityBy(kind prompt.Kind, parse func(judge.Reply) (float64, error)) ballot {
	return func(ctx context.Context, g *Group, a, b *Candidate, shape func(*judge.Request)) (float64, error) {
		return askProbability(ctx, g, kind, prompt.Vars{Candidates: texts([]*Candidate{a, b})}, shape, parse)
	}
}
