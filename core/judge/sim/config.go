package sim

import (
	"encoding/json"
	"maps"
	"math"
	"slices"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/strict"
)

// Config says what the judge knows and how badly it sees. The zero value of
// every field but Qualities is exact, instant and never fails.
type Config struct {
	// Qualities gives each text its quality, on any scale (that of the replay
	// file is log-odds). A text that stands behind a reasoning block (<think>)
	// is also known by what follows the block, as that is all a judge is shown;
	// where several then look the same, their mean quality counts.
	Qualities map[string]float64 `json:"-"`
	// ByQuery gives texts their qualities as answers to one query, by the query's
	// key (QueryKey). They win over Qualities. In JSON both stand in "qualities":
	// {text: quality} and {query: {text: quality}}.
	ByQuery map[string]map[string]float64 `json:"-"`

	Sigma        float64 `json:"sigma"`         // std of the error of one text in one call, in units of quality
	Drift        float64 `json:"drift"`         // std of a shift common to all texts of a call
	Taste        float64 `json:"taste"`         // std of an error that stays with a text
	Crowding     float64 `json:"crowding"`      // relative growth of Sigma per text beyond the second
	PositionBias float64 `json:"position_bias"` // added to the first of several texts; below 0 it repels

	LatencyMS     float64 `json:"latency_ms"`     // how long each call takes, in milliseconds
	FailureRate   float64 `json:"failure_rate"`   // share of attempts that fail like a 500, 0..1
	MalformedRate float64 `json:"malformed_rate"` // share of the other attempts with an unusable answer, 0..1
	Seed          int64   `json:"seed"`
}

const (
	maxLatencyMS = 24 * 60 * 60 * 1000 // one day, well within what time.Duration can hold
	maxScale     = 1e100               // no sum or product of the formula leaves float64 then
)

// ParseConfig decodes a configuration. Unknown fields and values out of range
// are errors that name the field.
func ParseConfig(data []byte) (Config, error) {
	var c struct {
		Config
		Qualities map[string]quality `json:"qualities"`
	}
	if err := strict.Unmarshal("", data, &c); err != nil {
		return Config{}, err
	}
	c.Config.Qualities, c.ByQuery = map[string]float64{}, map[string]map[string]float64{}
	for key, q := range c.Qualities {
		if q.ofTexts != nil {
			c.ByQuery[key] = q.ofTexts
		} else {
			c.Config.Qualities[key] = q.ofText
		}
	}
	return c.Config, c.validate()
}

// quality is that of a text, or those of the texts of a query.
type quality struct {
	ofText  float64
	ofTexts map[string]float64
}

func (q *quality) UnmarshalJSON(data []byte) error {
	if data[0] == '{' {
		return json.Unmarshal(data, &q.ofTexts)
	}
	return json.Unmarshal(data, &q.ofText)
}

func (c Config) validate() error {
	for _, f := range []struct {
		name     string
		value    float64
		min, max float64
	}{
		{"sigma", c.Sigma, 0, maxScale},
		{"drift", c.Drift, 0, maxScale},
		{"taste", c.Taste, 0, maxScale},
		{"crowding", c.Crowding, 0, maxScale},
		{"position_bias", c.PositionBias, -maxScale, maxScale},
		{"latency_ms", c.LatencyMS, 0, maxLatencyMS},
		{"failure_rate", c.FailureRate, 0, 1},
		{"malformed_rate", c.MalformedRate, 0, 1},
	} {
		if err := fault.Within(f.name, f.value, f.min, f.max); err != nil {
			return err
		}
	}
	for _, qualities := range append(slices.Collect(maps.Values(c.ByQuery)), c.Qualities) {
		for text, quality := range qualities {
			if !(math.Abs(quality) <= maxScale) {
				return fault.New(fault.InvalidValue, "qualities", "need a number from %v to %v for a text of %d bytes, got %v",
					-maxScale, maxScale, len(text), quality)
			}
		}
	}
	return nil
}
