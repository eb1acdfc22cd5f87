package sim

import "github.com/rankbuffer/rankbuffer/core/judge"

// answer is what the judge says: plain text, or a label that it weighed against
// others and what stands around it.
type answer struct {
	before, after string
	labels        []label // most likely first; none for plain text, which is all in before
}

type label struct {
	text    string
	logProb float64
}

func plain(text string) answer { return answer{before: text} }

func (a answer) text() string {
	if len(a.labels) == 0 {
		return a.before
	}
	return a.before + a.labels[0].text + a.after
}

// tokens cuts the answer at its label, of which up to top alternatives are
// given. Nothing else was weighed, so that plain text has no tokens.
func (a answer) tokens(top int) []judge.TokenProb {
	if top <= 0 || len(a.labels) == 0 {
		return nil
	}
	chosen := judge.TokenProb{Token: a.labels[0].text, LogProb: a.labels[0].logProb}
	for _, l := range a.labels[:min(top, len(a.labels))] {
		chosen.Top = append(chosen.Top, judge.Alternative{Token: l.text, LogProb: l.logProb})
	}
	var out []judge.TokenProb
	if a.before != "" {
		out = append(out, certain(a.before))
	}
	out = append(out, chosen)
	if a.after != "" {
		out = append(out, certain(a.after))
	}
	return out
}

func certain(text string) judge.TokenProb {
	return judge.TokenProb{Token: text, Top: []judge.Alternative{{Token: text}}}
}
