// Package options holds the options of a judge. A new option is a field of
// Judge, and a case of Validate if not every value can be used. An option that is
// a field of the request is also sent by openai/body.go and named in reservedBody.
package options

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"strings"
	"time"
)

// The kinds of judge a configuration can name.
const (
	TypeOpenAI    = "openai"
	TypeSimulated = "simulated"
)

// Judge is how to reach a judge and how hard to try. A zero field is its default.
// In JSON the names are those of the tags, times are seconds (fractions allowed),
// and base_url is a string or a list of strings. The tag every:"judge" marks the
// options that a simulated judge has too.
type Judge struct {
	Type string `json:"type" every:"judge"` // TypeOpenAI (default) or TypeSimulated

	// The endpoint.
	BaseURLs  oneOrMore         `json:"base_url"`    // up to and without /chat/completions; all serve the same model
	Model     string            `json:"model"`       // the name the endpoint serves it under
	APIKey    Secret            `json:"api_key"`     // wins over APIKeyEnv
	APIKeyEnv string            `json:"api_key_env"` // the environment variable that holds the key; errors name it
	Headers   map[string]Secret `json:"headers"`     // sent with every request
	Proxy     Secret            `json:"proxy"`       // may hold a password; http, https or socks5 URL; the environment is never consulted

	// The request.
	Temperature     float64                    `json:"temperature"`      // 0 is sent as 0
	OmitTemperature bool                       `json:"omit_temperature"` // for models that refuse the field
	MaxTokens       int                        `json:"max_tokens"`       // 0: not sent, the endpoint's own limit
	Seed            *int64                     `json:"seed"`             // unless the request sets its own
	ExtraBody       map[string]json.RawMessage `json:"extra_body"`       // further body fields, e.g. chat_template_kwargs
	SystemRole      *bool                      `json:"system_role"`      // false: the system message is put before the first user message

	// How hard to try.
	Timeout        Seconds `json:"timeout" every:"judge"`         // one attempt: 120
	GroupTimeout   Seconds `json:"group_timeout" every:"judge"`   // all calls of a group: 600; the caller applies it
	MaxConcurrency int     `json:"max_concurrency" every:"judge"` // attempts in flight, over all endpoints: 256
	MaxRetries     *int    `json:"max_retries" every:"judge"`     // attempts after the first: 3
	Backoff        Seconds `json:"backoff" every:"judge"`         // before the first retry, doubled for each further one: 0.5
	BackoffMax     Seconds `json:"backoff_max" every:"judge"`     // 30
}

// WithDefaults fills in what was left zero.
func (o Judge) WithDefaults() Judge {
	fill(&o.Type, TypeOpenAI)
	fill(&o.Timeout, 120)
	fill(&o.GroupTimeout, 600)
	fill(&o.MaxConcurrency, 256)
	fill(&o.Backoff, 0.5)
	fill(&o.BackoffMax, 30)
	return o.withPointers()
}

// withPointers fills in what null has left out of options that may be zero.
func (o Judge) withPointers() Judge {
	if o.MaxRetries == nil {
		three := 3
		o.MaxRetries = &three
	}
	if o.SystemRole == nil {
		yes := true
		o.SystemRole = &yes
	}
	return o
}

func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
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

// Hidden is shown in place of a Secret.
const Hidden = "[hidden]"

func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return Hidden
}

// GoString hides the text from %#v.
func (s Secret) GoString() string { return `"` + s.String() + `"` }

// MarshalText hides the text from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// String names the endpoint and the model, without what may be secret.
func (o Judge) String() string {
	hosts := make([]string, len(o.BaseURLs))
	for i, base := range o.BaseURLs {
		hosts[i] = Hidden
		if u, err := url.Parse(base); err == nil {
			hosts[i] = u.Redacted()
		}
	}
	return fmt.Sprintf("judge %q at %s", o.Model, strings.Join(hosts, ", "))
}

// GoString does the same for %#v.
func (o Judge) GoString() string { return o.String() }
