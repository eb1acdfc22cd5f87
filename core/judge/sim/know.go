package sim

import (
	"slices"
	"strings"

	"github.com/rankbuffer/rankbuffer/core/query"
	"github.com/rankbuffer/rankbuffer/core/reward"
)

// known is what the judge knows of one text.
type known struct {
	quality float64 // taste included: both stay with the text
	id      digest
}

// knowledge maps the texts as shown to what is known of them.
type knowledge struct {
	texts   map[string]known            // whatever the query
	byQuery map[string]map[string]known // by QueryKey; these win
	mean    float64                     // of all qualities given
}

func know(c Config) knowledge {
	draws := source{c.Seed}
	k := knowledge{texts: knownTexts(draws, c.Taste, c.Qualities), byQuery: make(map[string]map[string]known, len(c.ByQuery))}
	all := make([]float64, 0, len(c.Qualities))
	collect := func(qualities map[string]float64) {
		for _, quality := range qualities {
			all = append(all, quality)
		}
	}
	collect(c.Qualities)
	for key, qualities := range c.ByQuery {
		k.byQuery[key] = knownTexts(draws, c.Taste, qualities)
		collect(qualities)
	}
	k.mean = mean(all)
	return k
}

// of returns what is known of a text as an answer to a query.
func (k knowledge) of(key, text string) (known, bool) {
	if found, ok := k.byQuery[key][text]; ok {
		return found, true
	}
	found, ok := k.texts[text]
	return found, ok
}

// QueryKey is a query as Config.ByQuery names it: its text, or the lines
// "role: content" of its messages with a blank line between them.
func QueryKey(p query.Prompt) string {
	lines := make([]string, len(p.Messages))
	for i, m := range p.Messages {
		lines[i] = m.Role + ": " + m.Content
	}
	return p.Text + strings.Join(lines, "\n\n")
}

func knownTexts(draws source, taste float64, qualities map[string]float64) map[string]known {
	texts := make(map[string]known, len(qualities))
	add := func(text string, quality float64) {
		id := digestOf(text)
		if taste != 0 {
			quality += taste * draws.normal("taste", id)
		}
		texts[text] = known{quality, id}
	}
	stripped := map[string][]float64{}
	for text, quality := range qualities {
		add(text, quality)
		if shown := reward.DefaultReasoning.Answer(text); shown != text {
			stripped[shown] = append(stripped[shown], quality)
		}
	}
	for text, several := range stripped {
		if _, given := qualities[text]; !given {
			add(text, mean(several))
		}
	}
	return texts
}

// mean sums in sorted order, so that map iteration does not show in the last
// bit; 0 for none.
func mean(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
