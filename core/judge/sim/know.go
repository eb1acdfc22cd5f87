package sim

import (
	"slices"

	"github.com/rankbuffer/rankbuffer/core/reward"
)

// known is what the judge knows of one text.
type known struct {
	quality float64 // taste included: both stay with the text
	id      digest
}

// knowledge maps the texts as shown to what is known of them.
type knowledge struct {
	texts map[string]known
	mean  float64 // of all qualities given
}

func know(c Config) knowledge {
	k := knowledge{texts: make(map[string]known, len(c.Qualities))}
	draws := source{c.Seed}
	all := make([]float64, 0, len(c.Qualities))
	stripped := map[string][]float64{}
	for text, quality := range c.Qualities {
		all = append(all, quality)
		k.add(draws, c.Taste, text, quality)
		if shown := reward.DefaultReasoning.Answer(text); shown != text {
			stripped[shown] = append(stripped[shown], quality)
		}
	}
	for text, qualities := range stripped {
		if _, given := c.Qualities[text]; !given {
			k.add(draws, c.Taste, text, mean(qualities))
		}
	}
	k.mean = mean(all)
	return k
}

func (k knowledge) add(draws source, taste float64, text string, quality float64) {
	id := digestOf(text)
	if taste != 0 {
		quality += taste * draws.normal("taste", id)
	}
	k.texts[text] = known{quality, id}
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
