package options

import (
	"fmt"
	"math"
	"net/url"
	"os"
	"strings"

	"github.com/rankbuffer/rankbuffer/core/fault"
)

// field is one option: its name in JSON and in errors, where it is decoded to,
// and what is wrong with its value, "" if nothing.
type field struct {
	name  string
	kind  string // what is wanted, as errors say it
	into  func(*Judge) any
	wrong func(Judge) string
}

// endpointFields are the options that a simulated judge does not have.
var endpointFields = []field{
	{"base_url", "a string or a list of strings", func(o *Judge) any { return (*oneOrMore)(&o.BaseURLs) }, wrongBaseURL},
	{"model", "a string", func(o *Judge) any { return &o.Model }, func(o Judge) string {
		if strings.TrimSpace(o.Model) == "" {
			return "needed: the name under which the endpoint serves the model"
		}
		return ""
	}},
	{"api_key", "a string", func(o *Judge) any { return &o.APIKey }, nil},
	{"api_key_env", "a string", func(o *Judge) any { return &o.APIKeyEnv }, nil},
	{"headers", "an object of strings", func(o *Judge) any { return &o.Headers }, wrongHeaders},
	{"proxy", "a string", func(o *Judge) any { return &o.Proxy }, func(o Judge) string {
		if o.Proxy == "" {
			return ""
		}
		return wrongURL(string(o.Proxy), "http", "https", "socks5", "socks5h")
	}},
	{"temperature", "a number", func(o *Judge) any { return &o.Temperature }, func(o Judge) string {
		if !(o.Temperature >= 0) || math.IsInf(o.Temperature, 0) {
			return fmt.Sprintf("need a finite number of 0 or more, got %v", o.Temperature)
		}
		return ""
	}},
	{"omit_temperature", "true or false", func(o *Judge) any { return &o.OmitTemperature }, nil},
	{"max_tokens", "an integer", func(o *Judge) any { return &o.MaxTokens }, func(o Judge) string {
		return below(o.MaxTokens, 0)
	}},
	{"seed", "an integer", func(o *Judge) any { return &o.Seed }, nil},
	{"extra_body", "an object", func(o *Judge) any { return &o.ExtraBody }, wrongExtraBody},
	{"system_role", "true or false", func(o *Judge) any { return &o.SystemRole }, nil},
}

// stackFields are the options of every judge.
var stackFields = []field{
	{"timeout", "a number", func(o *Judge) any { return &o.Timeout }, func(o Judge) string { return wrongSeconds(o.Timeout) }},
	{"group_timeout", "a number", func(o *Judge) any { return &o.GroupTimeout }, func(o Judge) string { return wrongSeconds(o.GroupTimeout) }},
	{"backoff", "a number", func(o *Judge) any { return &o.Backoff }, func(o Judge) string { return wrongSeconds(o.Backoff) }},
	{"backoff_max", "a number", func(o *Judge) any { return &o.BackoffMax }, func(o Judge) string { return wrongSeconds(o.BackoffMax) }},
	{"max_concurrency", "an integer", func(o *Judge) any { return &o.MaxConcurrency }, func(o Judge) string { return below(o.MaxConcurrency, 1) }},
	{"max_retries", "an integer", func(o *Judge) any { return &o.MaxRetries }, func(o Judge) string { return below(*o.MaxRetries, 0) }},
}

// fieldsOf are the options of a type of judge.
func fieldsOf(kind string) []field {
	if kind == TypeSimulated {
		return stackFields
	}
	return append(stackFields[:len(stackFields):len(stackFields)], endpointFields...)
}

// Validate names the first option that cannot be used. A zero field stands for
// its default.
func (o Judge) Validate() error {
	o = o.WithDefaults()
	if o.Type != TypeOpenAI && o.Type != TypeSimulated {
		return fault.New(fault.InvalidValue, "judge.type", "need %q or %q, got %q", TypeOpenAI, TypeSimulated, o.Type)
	}
	for _, f := range fieldsOf(o.Type) {
		if f.wrong == nil {
			continue
		}
		if problem := f.wrong(o); problem != "" {
			return fault.New(codeOf(problem), "judge."+f.name, "%s", problem)
		}
	}
	if o.Type == TypeSimulated {
		return nil
	}
	_, err := o.Key()
	return err
}

func codeOf(problem string) fault.Code {
	if strings.HasPrefix(problem, "needed") {
		return fault.MissingField
	}
	return fault.InvalidValue
}

func wrongSeconds(s Seconds) string {
	if !(s > 0) || math.IsInf(float64(s), 0) {
		return fmt.Sprintf("need a finite number of seconds above 0, got %v", float64(s))
	}
	return ""
}

func below(n, least int) string {
	if n < least {
		return fmt.Sprintf("need at least %d, got %d", least, n)
	}
	return ""
}

func wrongBaseURL(o Judge) string {
	if len(o.BaseURLs) == 0 {
		return "needed: the endpoint's address, such as http://localhost:8000/v1"
	}
	for i, base := range o.BaseURLs {
		if problem := wrongURL(base, "http", "https"); problem != "" {
			return fmt.Sprintf("endpoint %d: %s", i, problem)
		}
	}
	return ""
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

func wrongHeaders(o Judge) string {
	for name, value := range o.Headers {
		if !validHeader(name, string(value)) {
			return fmt.Sprintf("%q or its value holds characters that no HTTP header may", name)
		}
	}
	return ""
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

func wrongExtraBody(o Judge) string {
	for key := range o.ExtraBody {
		if instead, reserved := reservedBody[key]; reserved {
			return fmt.Sprintf("%q cannot be set here: %s", key, instead)
		}
	}
	return ""
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
