package judge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rankbuffer/rankbuffer/core/strict"
)

// ParseConfig reads a configuration from JSON, strictly: an unknown field or a
// wrong type is an error that names it. Absent and null fields are defaults. The
// result is validated and complete.
//
// A simulated judge shares only the fields of the last group of Config; its own
// are returned as rest, a JSON object for the simulated judge's configuration to
// decode, nil for any other type.
func ParseConfig(data []byte) (cfg Config, rest json.RawMessage, err error) {
	var given map[string]json.RawMessage
	if err := strict.Unmarshal("judge", data, &given); err != nil {
		return Config{}, nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if key, ok := firstRepeated(data); ok {
		return Config{}, nil, fmt.Errorf("%w: judge.%s: given twice", ErrConfig, key)
	}
	if raw, ok := given["type"]; ok {
		if err := decodeField("type", raw, &cfg.Type); err != nil {
			return Config{}, nil, err
		}
	}
	fields := stackFields(&cfg)
	simulated := cfg.Type == TypeSimulated
	if !simulated {
		maps.Copy(fields, endpointFields(&cfg))
	}
	own := make(map[string]json.RawMessage)
	for _, key := range slices.Sorted(maps.Keys(given)) {
		target, known := fields[key]
		switch {
		case key == "type":
		case known:
			if err := decodeField(key, given[key], target); err != nil {
				return Config{}, nil, err
			}
			if err := refuseZero(key, given[key], target); err != nil {
				return Config{}, nil, err
			}
		case simulated:
			own[key] = given[key]
		default:
			return Config{}, nil, fmt.Errorf("%w: judge.%s: unknown field; the fields are type, %s",
				ErrConfig, key, strings.Join(slices.Sorted(maps.Keys(fields)), ", "))
		}
	}
	if simulated {
		if rest, err = json.Marshal(own); err != nil {
			return Config{}, nil, fmt.Errorf("%w: %w", ErrConfig, err)
		}
	}
	cfg = cfg.withDefaults()
	return cfg, rest, cfg.Validate()
}

func endpointFields(c *Config) map[string]any {
	return map[string]any{
		"base_url": (*oneOrMore)(&c.BaseURLs), "model": &c.Model,
		"api_key": &c.APIKey, "api_key_env": &c.APIKeyEnv, "headers": &c.Headers, "proxy": &c.Proxy,
		"temperature": &c.Temperature, "omit_temperature": &c.OmitTemperature, "max_tokens": &c.MaxTokens,
		"seed": &c.Seed, "extra_body": &c.ExtraBody, "system_role": &c.SystemRole,
	}
}

func stackFields(c *Config) map[string]any {
	return map[string]any{
		"timeout_s": &c.Timeout, "group_timeout_s": &c.GroupTimeout, "max_concurrency": &c.MaxConcurrency,
		"max_retries": &c.MaxRetries, "backoff_s": &c.Backoff, "backoff_max_s": &c.MaxBackoff,
	}
}

// decodeField decodes one field. Its errors never quote the value: it may be a
// secret.
func decodeField(key string, raw json.RawMessage, target any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber() // extra_body's numbers go out as they came in
	err := dec.Decode(target)
	if err == nil {
		return nil
	}
	var typ *json.UnmarshalTypeError
	if !errors.As(err, &typ) {
		return fmt.Errorf("%w: judge.%s: %w", ErrConfig, key, err)
	}
	got, _, _ := strings.Cut(typ.Value, " ")
	return fmt.Errorf("%w: judge.%s: want %s, got %s", ErrConfig, key, wanted(target), got)
}

// refuseZero keeps a zero that was written from passing for a field left out,
// which takes its default: no timeout at all is not what 120 s are.
func refuseZero(key string, raw json.RawMessage, target any) error {
	if string(raw) == "null" {
		return nil
	}
	if s, ok := target.(*Seconds); ok && *s == 0 {
		return fmt.Errorf("%w: judge.%s: 0 is not a finite number of seconds above 0", ErrConfig, key)
	}
	if n, ok := target.(*int); ok && *n == 0 && key == "max_concurrency" {
		return fmt.Errorf("%w: judge.%s: 0 is below 1", ErrConfig, key)
	}
	return nil
}

func wanted(target any) string {
	switch target.(type) {
	case *oneOrMore:
		return "a string or a list of strings"
	case *string, *Secret:
		return "a string"
	case *bool, **bool:
		return "true or false"
	case *int, **int, **int64:
		return "an integer"
	case *float64, *Seconds:
		return "a number"
	case *map[string]Secret:
		return "an object of strings"
	default:
		return "an object"
	}
}

// oneOrMore is a list of strings that may be written as its only element.
type oneOrMore []string

func (l *oneOrMore) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		*l = make([]string, 1)
		return json.Unmarshal(data, &(*l)[0])
	}
	return json.Unmarshal(data, (*[]string)(l))
}

// firstRepeated returns a top-level key that occurs twice.
func firstRepeated(data []byte) (string, bool) {
	text := string(bytes.TrimSpace(data))
	if text == "" || text[0] != '{' {
		return "", false
	}
	o, _, _ := scanObject(text, 0)
	return o.repeated()
}
