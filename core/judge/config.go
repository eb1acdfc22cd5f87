package judge

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"strings"
	"time"
)

// ErrConfig is wrapped by every error about a judge's configuration.
var ErrConfig = errors.New("configuration")

// The kinds of judge a configuration can name.
const (
	TypeOpenAI    = "openai"
	TypeSimulated = "simulated"
)

// Config is how to reach a judge and how hard to try. A zero field is its
// default. In JSON the names are those of the tags, times are seconds (fractions
// allowed), and base_url is a string or a list of strings.
type Config struct {
	Type string `json:"type"` // TypeOpenAI (default) or TypeSimulated

	// The endpoint.
	BaseURLs  []string          `json:"base_url"`    // up to and without /chat/completions; all serve the same model
	Model     string            `json:"model"`       // the name the endpoint serves it under
	APIKey    Secret            `json:"api_key"`     // wins over APIKeyEnv
	APIKeyEnv string            `json:"api_key_env"` // the environment variable that holds the key
	Headers   map[string]Secret `json:"headers"`     // sent with every request
	Proxy     Secret            `json:"proxy"`       // may hold a password; http, https or socks5 URL; the environment is never consulted

	// The request.
	Temperature     float64        `json:"temperature"`      // 0 is sent as 0
	OmitTemperature bool           `json:"omit_temperature"` // for models that refuse the field
	MaxTokens       int            `json:"max_tokens"`       // 0: not sent, the endpoint's own limit
	Seed            *int64         `json:"seed"`             // unless the request sets its own
	ExtraBody       map[string]any `json:"extra_body"`       // further body fields, e.g. chat_template_kwargs
	SystemRole      *bool          `json:"system_role"`      // false: the system message is put before the first user message

	// How hard to try.
	Timeout        Seconds `json:"timeout_s"`       // one attempt: 120
	GroupTimeout   Seconds `json:"group_timeout_s"` // all calls of a group: 600; the caller applies it
	MaxConcurrency int     `json:"max_concurrency"` // attempts in flight, over all endpoints: 256
	MaxRetries     *int    `json:"max_retries"`     // attempts after the first: 3
	Backoff        Seconds `json:"backoff_s"`       // before the first retry, doubled for each further one: 0.5
	MaxBackoff     Seconds `json:"backoff_max_s"`   // 30
}

// Seconds is a time span in seconds.
type Seconds float64

// Duration is the span as Go counts it.
func (s Seconds) Duration() time.Duration {
	if ns := float64(s) * float64(time.Second); ns < math.MaxInt64 {
		return time.Duration(ns)
	}
	return math.MaxInt64
}

// Secret is text that no error, log or report may show.
type Secret string

const hidden = "[hidden]"

func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// GoString hides the text from %#v.
func (s Secret) GoString() string { return `"` + s.String() + `"` }

// MarshalText hides the text from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// String names the endpoint and the model, without what may be secret.
func (c Config) String() string {
	hosts := make([]string, len(c.BaseURLs))
	for i, base := range c.BaseURLs {
		hosts[i] = hidden
		if u, err := url.Parse(base); err == nil {
			hosts[i] = u.Redacted()
		}
	}
	return fmt.Sprintf("judge %q at %s", c.Model, strings.Join(hosts, ", "))
}

// GoString does the same for %#v.
func (c Config) GoString() string { return c.String() }

// withDefaults fills in what was left zero.
func (c Config) withDefaults() Config {
	fill(&c.Type, TypeOpenAI)
	fill(&c.Timeout, 120)
	fill(&c.GroupTimeout, 600)
	fill(&c.MaxConcurrency, 256)
	fill(&c.Backoff, 0.5)
	fill(&c.MaxBackoff, 30)
	if c.MaxRetries == nil {
		three := 3
		c.MaxRetries = &three
	}
	if c.SystemRole == nil {
		yes := true
		c.SystemRole = &yes
	}
	return c
}

func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
