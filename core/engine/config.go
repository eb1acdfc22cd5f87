package engine

import (
	"cmp"
	"encoding/json"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/rank"
	"github.com/rankbuffer/rankbuffer/core/reward"
	"github.com/rankbuffer/rankbuffer/core/strict"
)

// config is the scorer's configuration as JSON. Absent fields take defaults.
type config struct {
	Method    json.RawMessage        `json:"method"`     // {"name": ..., options}
	Judge     json.RawMessage        `json:"judge"`      // {"type": "openai" | "simulated", ...}
	Seed      int64                  `json:"seed"`       // of presentation orders and votes
	OnFailure rank.OnFailure         `json:"on_failure"` // mean, neutral or raise
	Advantage string                 `json:"advantage"`  // grpo, or dr_grpo: not divided by the std
	Reasoning json.RawMessage        `json:"reasoning"`  // {"open", "close"}; null: judge the text as it is
	Prompts   map[prompt.Kind]string `json:"prompts"`    // template files by kind of call
	limits
}

// limits bound what a caller can make the process hold.
type limits struct {
	MaxResponseBytes int `json:"max_response_bytes"`
	MaxGroupSize     int `json:"max_group_size"`
	MaxGroups        int `json:"max_groups"` // in flight
}

func parseConfig(data []byte) (config, error) {
	cfg := config{
		OnFailure: rank.FailMean,
		Advantage: "grpo",
		limits:    limits{MaxResponseBytes: 4 << 20, MaxGroupSize: 4096, MaxGroups: 65536},
	}
	if err := strict.Unmarshal("", data, &cfg); err != nil {
		return cfg, inDocument("config", err)
	}
	return cfg, cfg.validate()
}

func (c config) validate() error {
	switch {
	case len(c.Method) == 0:
		return fault.New(fault.MissingField, "method", "missing, want {\"name\": ...}")
	case len(c.Judge) == 0:
		return fault.New(fault.MissingField, "judge", "missing, want {\"base_url\": ..., \"model\": ...}")
	}
	return cmp.Or(
		fault.OneOf("on_failure", c.OnFailure, rank.FailMean, rank.FailNeutral, rank.FailRaise),
		fault.OneOf("advantage", c.Advantage, "grpo", "dr_grpo"),
		fault.AtLeast("max_response_bytes", c.MaxResponseBytes, 1),
		fault.AtLeast("max_group_size", c.MaxGroupSize, 1),
		fault.AtLeast("max_groups", c.MaxGroups, 1))
}

// reasoning is which tags to strip by; the zero value strips nothing.
func (c config) reasoning() (reward.Reasoning, error) {
	if c.Reasoning == nil {
		return reward.DefaultReasoning, nil
	}
	var tags *reward.Reasoning
	if err := strict.Unmarshal("reasoning", c.Reasoning, &tags); err != nil {
		return reward.Reasoning{}, err
	}
	if tags == nil {
		return reward.Reasoning{}, nil
	}
	for name, tag := range map[string]string{"open": tags.Open, "close": tags.Close} {
		if tag == "" {
			return reward.Reasoning{}, fault.New(fault.MissingField, "reasoning."+name, "must not be empty; \"reasoning\": null strips nothing")
		}
	}
	return *tags, nil
}
