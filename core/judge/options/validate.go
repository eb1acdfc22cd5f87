package options

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"os"
	"strings"

	"github.com/rankbuffer/rankbuffer/core/fault"
)

// Validate names the first option that cannot be used, once the defaults are
// filled in.
func (o Judge) Validate() error {
	for _, s := range []struct {
		name  string
		value Seconds
	}{{"timeout", o.Timeout}, {"group_timeout", o.GroupTimeout}, {"backoff", o.Backoff}, {"backoff_max", o.BackoffMax}} {
		if !(s.value > 0) || math.IsInf(float64(s.value), 0) {
			return bad(s.name, "need a finite number of seconds above 0, got %v", float64(s.value))
		}
	}
	err := cmp.Or(
		fault.AtLeast("judge.max_concurrency", o.MaxConcurrency, 1),
		fault.AtLeast("judge.max_retries", *o.MaxRetries, 0),
		fault.OneOf("judge.type", o.Type, TypeOpenAI, TypeSimulated),
	)
	if err != nil || o.Type == TypeSimulated {
		return err
	}
	switch {
	case len(o.BaseURLs) == 0:
		return fault.New(fault.MissingField, "judge.base_url", "needed: the endpoint's address, such as http://localhost:8000/v1")
	case strings.TrimSpace(o.Model) == "":
		return fault.New(fault.MissingField, "judge.model", "needed: the name under which the endpoint serves the model")
	}
	if err := cmp.Or(
		fault.AtLeast("judge.temperature", o.Temperature, 0),
		fault.AtLeast("judge.max_tokens", o.MaxTokens, 0),
	); err != nil {
		return err
	}
	for i, base := range o.BaseURLs {
		if problem := wrongURL(base, "http", "https"); problem != "" {
			return bad("base_url", "endpoint %d: %s", i, problem)
		}
	}
	if o.Proxy != "" {
		if problem := wrongURL(string(o.Proxy), "http", "https", "socks5", "socks5h"); problem != "" {
			return bad("proxy", "%s", problem)
		}
	}
	for name, value := range o.Headers {
		if !validHeader(name, string(value)) {
			return bad("headers", "%q or its value holds characters that no HTTP header may", name)
		}
	}
	for key := range o.ExtraBody {
		if instead, reserved := reservedBody[key]; reserved {
			return bad("extra_body", "%q cannot be set here: %s", key, instead)
		}
	}
	_, err = o.Key()
	return err
}

func bad(name, format string, args ...any) error {
	return fault.New(fault.InvalidValue, "judge."+name, format, args...)
}

// wrongURL says what is wrong with an address without showing its password, not
// even where nobody would look for one.
func wrongURL(raw string, schemes ...string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "this is not a URL"
	}
	for _, s := range schemes {
		if u.Scheme == s && u.Host != "" {
			return ""
		}
	}
	return fmt.Sprintf("need a URL with a host and one of the schemes %s", strings.Join(schemes, ", "))
}

// reservedBody holds the body fields that are not for extra_body.
var reservedBody = map[string]string{
	"model":        "use judge.model",
	"messages":     "they are what is judged",
	"temperature":  "use judge.temperature",
	"max_tokens":   "use judge.max_tokens",
	"seed":         "use judge.seed",
	"stream":       "answers are read whole",
	"n":            "votes are separate requests",
	"logprobs":     "the method asks for them when it needs them",
	"top_logprobs": "the method asks for them when it needs them",
}

// Key returns the API key, "" if none is configured.
func (o Judge) Key() (string, error) {
	key, from := strings.TrimSpace(string(o.APIKey)), "judge.api_key"
	if key == "" && o.APIKeyEnv != "" {
		from = "judge.api_key_env"
		if key = strings.TrimSpace(os.Getenv(o.APIKeyEnv)); key == "" {
			return "", fault.New(fault.InvalidValue, from, "the environment variable %s is not set or empty", o.APIKeyEnv)
		}
	}
	if !validHeader("Authorization", key) {
		return "", fault.New(fault.InvalidValue, from, "the key holds characters that no HTTP header may, such as a line break")
	}
	return key, nil
}

func validHeader(name, value string) bool {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r) }) {
		return false
	}
	return !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}
