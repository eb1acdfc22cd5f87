package methods

import (
	"cmp"
	"context"
	"math"
	"strings"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/judge/verdict"
	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/rank"
	"github.com/rankbuffer/rankbuffer/core/rank/calls"
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
	calls.Pairing
	Aggregate string `json:"aggregate"` // soft or majority
	Reasoning bool   `json:"reasoning"` // the judge reasons in writing before it answers
}

func newPRC() rank.Method {
	return &PRC{Pairing: calls.PairDefaults("prc", 1), Aggregate: "soft"}
}

// Validate implements rank.Method.
func (m *PRC) Validate() error {
	return cmp.Or(fault.OneOf("aggregate", m.Aggregate, "soft", "majority"), m.Pairing.Validate())
}

// Check implements rank.Method.
func (m *PRC) Check(s rank.Spec) error {
	if strings.TrimSpace(s.Reference) == "" {
		return fault.New(fault.MissingField, "reference", "prc compares each response with a reference response, and the group gives none")
	}
	return nil
}

// Rank implements rank.Method.
func (m *PRC) Rank(ctx context.Context, g *rank.Group) (rank.Outcome, error) {
	answer := g.Answer(g.Reference)
	if strings.TrimSpace(answer) == "" {
		return g.Refused(ctx, fault.New(fault.InvalidValue, "reference", "has no answer after its reasoning"))
	}
	reference, vote := rank.Outsider(answer), m.ballot()
	preferred, err := calls.Evaluate(ctx, g, func(ctx context.Context, c *rank.Candidate) (float64, error) {
		if c.Text == reference.Text {
			return 0.5, nil
		}
		s, err := m.Judge(ctx, g, c, reference, vote)
		if err != nil {
			return 0, err
		}
		return rounded(s.Share()), nil
	})
	if err != nil {
		return rank.Outcome{}, err
	}
	return rank.Outcome{Rewards: g.Spread(func(c *rank.Candidate) float64 { return preferred[c] }, 0)}, nil
}

// rounded takes away the last digits, in which 1 - 0.1 and 0.9 differ: equal
// probabilities must give equal rewards whichever slot the response stood in.
func rounded(p float64) float64 { return math.Round(p*1e12) / 1e12 }

// ballot asks in the way the options say.
func (m *PRC) ballot() calls.Ballot {
	switch {
	case m.Aggregate == "majority" && m.Reasoning:
		return calls.Winner(prompt.Reasoned)
	case m.Aggregate == "majority":
		return calls.Winner(prompt.Pair)
	case m.Reasoning:
		return calls.Probability(prompt.Reasoned, verdict.Reasoned)
	default:
		return calls.Probability(prompt.Preference, verdict.Preference)
	}
}
