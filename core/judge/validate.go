package judge

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"strings"
)

// Validate names the first field that cannot be used. A zero field stands for
// its default.
func (c Config) Validate() error {
	c = c.withDefaults()
	bad := func(field, format string, args ...any) error {
		return fmt.Errorf("%w: judge.%s: %s", ErrConfig, field, fmt.Sprintf(format, args...))
	}
	for _, s := range []struct {
		field string
		value Seconds
	}{
		{"timeout_s", c.Timeout}, {"group_timeout_s", c.GroupTimeout},
		{"backoff_s", c.Backoff}, {"backoff_max_s", c.MaxBackoff},
	} {
		if !(s.value > 0) || math.IsInf(float64(s.value), 0) {
			return bad(s.field, "%v is not a finite number of seconds above 0", float64(s.value))
		}
	}
	switch {
	case c.MaxConcurrency < 1:
		return bad("max_concurrency", "%d is below 1", c.MaxConcurrency)
	case *c.MaxRetries < 0:
		return bad("max_retries", "%d is below 0", *c.MaxRetries)
	case c.Type == TypeSimulated:
		return nil
	case c.Type != TypeOpenAI:
		return bad("type", "%q is not one of %q, %q", c.Type, TypeOpenAI, TypeSimulated)
	case len(c.BaseURLs) == 0:
		return bad("base_url", "needed: the endpoint's address, such as http://localhost:8000/v1")
	case strings.TrimSpace(c.Model) == "":
		return bad("model", "needed: the name under which the endpoint serves the model")
	case !(c.Temperature >= 0) || math.IsInf(c.Temperature, 0):
		return bad("temperature", "%v is not a finite number of 0 or more", c.Temperature)
	case c.MaxTokens < 0:
		return bad("max_tokens", "%d is below 0", c.MaxTokens)
	}
	for i, base := range c.BaseURLs {
		if problem := badURL(base, "http", "https"); problem != "" {
			return bad("base_url", "endpoint %d: %s", i, problem)
		}
	}
	if c.Proxy != "" {
		if problem := badURL(string(c.Proxy), "http", "https", "socks5", "socks5h"); problem != "" {
			return bad("proxy", "%s", problem)
		}
	}
	for name, value := range c.Headers {
		if !validHeader(name, string(value)) {
			return bad("headers", "%q or its value holds characters that no HTTP header may", name)
		}
	}
	for key := range c.ExtraBody {
		if instead, reserved := reservedBody[key]; reserved {
			return bad("extra_body", "%q cannot be set here: %s", key, instead)
		}
	}
	if _, err := c.key(); err != nil {
		return err
	}
	return nil
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

// badURL says what is wrong with an address without showing its password.
func badURL(raw string, schemes ...string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "not a URL"
	}
	for _, s := range schemes {
		if u.Scheme == s && u.Host != "" {
			return ""
		}
	}
	// The address itself may hold a password in a place nobody would look for.
	return fmt.Sprintf("not a URL with a host and one of the schemes %s", strings.Join(schemes, ", "))
}

// key returns the API key, "" if none is configured.
func (c Config) key() (string, error) {
	key, from := strings.TrimSpace(string(c.APIKey)), "api_key"
	if key == "" && c.APIKeyEnv != "" {
		from = "api_key_env"
		if key = strings.TrimSpace(os.Getenv(c.APIKeyEnv)); key == "" {
			return "", fmt.Errorf("%w: judge.api_key_env: the environment variable %s is not set or empty", ErrConfig, c.APIKeyEnv)
		}
	}
	if !validHeader("Authorization", key) {
		return "", fmt.Errorf("%w: judge.%s: the key holds characters that no HTTP header may, such as a line break", ErrConfig, from)
	}
	return key, nil
}

func validHeader(name, value string) bool {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r) }) {
		return false
	}
	return !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) && http.CanonicalHeaderKey(name) != ""
}
