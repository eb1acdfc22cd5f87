package sim

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/rankbuffer/rankbuffer/core/prompt"
)

// question is a request as the judge understands it.
type question struct {
	doc   prompt.Document
	shown []prompt.Text // what it is shown, in order: anchors, then candidates
	known []known       // of shown; none where the answer needs no quality
	call  digest        // (rubrics, shown texts, request seed)
}

func (s *Sim) understand(messages []prompt.Message, seed *int64) (question, error) {
	doc, err := prompt.Read(messages)
	if err != nil {
		return question{}, err
	}
	q := question{doc: doc, shown: slices.Concat(doc.Anchors, doc.Candidates)}
	named := []string{doc.Rubrics, "no seed"}
	if seed != nil {
		named[1] = strconv.FormatInt(*seed, 10)
	}
	key := QueryKey(doc.Query)
	for _, text := range q.shown {
		k, ok := s.knows.of(key, text.Body)
		switch {
		case ok:
		case perceives(doc.Kind):
			return question{}, fmt.Errorf("no quality is known for the text shown as %s (%d bytes)", text.ID, len(text.Body))
		default:
			k.id = digestOf(text.Body)
		}
		q.known = append(q.known, k)
		named = append(named, string(k.id[:]))
	}
	q.call = digestOf(named...)
	return q, nil
}

// perceives reports whether a kind's answer depends on the texts' qualities.
func perceives(kind prompt.Kind) bool {
	switch kind {
	case prompt.CoarseOrder, prompt.Manager, prompt.Rubrics:
		return false
	}
	return true
}

// perceived is the formula of the package comment, for each text shown.
func (s *Sim) perceived(q question) []float64 {
	c, n := s.config, len(q.shown)
	values := make([]float64, n)
	var shift float64
	if c.Drift != 0 {
		shift = c.Drift * s.draws.normal("drift", q.call)
	}
	spread := c.Sigma * (1 + c.Crowding*float64(max(0, n-2)))
	for i, text := range q.known {
		values[i] = text.quality + shift
		if spread != 0 {
			values[i] += spread * s.draws.normal("sigma", q.call, text.id)
		}
	}
	if n > 1 {
		values[0] += c.PositionBias
	}
	return values
}
