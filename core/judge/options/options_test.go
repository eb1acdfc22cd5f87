package options

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/fault"
)

func TestParse(t *testing.T) {
	t.Setenv("RB_TEST_KEY", " sk-1\n")
	full := Judge{
		Type: TypeOpenAI, BaseURLs: []string{"http://a/v1", "https://b/v1"}, Model: "m", APIKey: "k", APIKeyEnv: "RB_TEST_KEY",
		Headers: map[string]Secret{"X-A": "b"}, Proxy: "socks5://p:1", Temperature: 0.5, OmitTemperature: true, MaxTokens: 7, Seed: ptr(int64(-1)),
		ExtraBody: map[string]json.RawMessage{"top_k": []byte("3")}, SystemRole: ptr(false),
		Timeout: 1.5, GroupTimeout: 2, MaxConcurrency: 3, MaxRetries: ptr(0), Backoff: 0.25, BackoffMax: 4,
	}
	least := Judge{BaseURLs: []string{"http://a/v1"}, Model: "m"}.WithDefaults()
	simulated := Judge{Type: TypeSimulated, MaxRetries: ptr(1)}.WithDefaults()
	for _, tc := range []struct {
		name, text string
		want       Judge
		rest       string
		wrong      string
	}{
		{name: "least", text: `{"base_url": "http://a/v1", "model": "m"}`, want: least},
		{name: "nulls are defaults", text: `{"base_url": ["http://a/v1"], "model": "m", "seed": null, "max_retries": null, "timeout": null, "extra_body": null, "api_key": null}`, want: least},
		{name: "full", want: full, text: `{"type": "openai", "base_url": ["http://a/v1", "https://b/v1"], "model": "m", "api_key": "k", "api_key_env": "RB_TEST_KEY",
			"headers": {"X-A": "b"}, "proxy": "socks5://p:1", "temperature": 0.5, "omit_temperature": true, "max_tokens": 7, "seed": -1, "extra_body": {"top_k": 3},
			"system_role": false, "timeout": 1.5, "group_timeout": 2, "max_concurrency": 3, "max_retries": 0, "backoff": 0.25, "backoff_max": 4}`},
		{name: "simulated", text: `{"type": "simulated", "max_retries": 1, "sigma": 2.50, "qualities": {"a": 1}}`, want: simulated, rest: `{"qualities":{"a":1},"sigma":2.50}`},
		{name: "simulated, nothing of its own", text: `{"type": "simulated", "max_retries": 1}`, want: simulated, rest: `{}`},

		{name: "unknown", text: `{"base_url": "http://a/v1", "modle": "m"}`, wrong: "judge.modle: unknown field; did you mean \"model\"?"},
		{name: "other case", text: `{"base_url": "http://a/v1", "Model": "m"}`, wrong: "judge.Model: unknown field"},
		{name: "the simulator's field", text: `{"base_url": "http://a/v1", "model": "m", "sigma": 1}`, wrong: "judge.sigma: unknown field; the fields are type, base_url,"},
		{name: "twice", text: `{"base_url": "http://a/v1", "model": "m", "model": "n"}`, wrong: "judge.model: this name is given twice"},
		{name: "not an object", text: `[]`, wrong: "judge"},
		{name: "not JSON", text: `{`, wrong: "judge"},
		{name: "more after it", text: `{} {}`, wrong: "after top-level value"},
		{name: "not UTF-8", text: "{\"model\": \"\xff\"}", wrong: "UTF-8"},
		{name: "no address", text: `{"model": "m"}`, wrong: "judge.base_url: needed"},
		{name: "no addresses", text: `{"model": "m", "base_url": []}`, wrong: "judge.base_url: needed"},
		{name: "no scheme", text: `{"model": "m", "base_url": "localhost:8000/v1"}`, wrong: "judge.base_url: endpoint 0:"},
		{name: "second address", text: `{"model": "m", "base_url": ["http://a", "b"]}`, wrong: "judge.base_url: endpoint 1:"},
		{name: "address type", text: `{"model": "m", "base_url": 7}`, wrong: "judge.base_url: want a string or a list of strings"},
		{name: "no model", text: `{"base_url": "http://a/v1"}`, wrong: "judge.model: needed"},
		{name: "type", text: `{"type": "magic"}`, wrong: `judge.type: need one of openai, simulated, got "magic"`},
		{name: "type's type", text: `{"type": 1}`, wrong: "judge.type: want a string, got number"},
		{name: "text for number", text: `{"base_url": "http://a/v1", "model": "m", "timeout": "1"}`, wrong: "judge.timeout: want a number, got string"},
		{name: "fraction for integer", text: `{"base_url": "http://a/v1", "model": "m", "max_retries": 1.5}`, wrong: "judge.max_retries: want an integer, got number"},
		{name: "key type", text: `{"base_url": "http://a/v1", "model": "m", "api_key": ["secret"]}`, wrong: "judge.api_key: want a string, got array"},
		{name: "headers", text: `{"base_url": "http://a/v1", "model": "m", "headers": {"A": 1}}`, wrong: "judge.headers.A: want a string, got number"},
		{name: "header characters", text: `{"base_url": "http://a/v1", "model": "m", "headers": {"A": "b\nc"}}`, wrong: `judge.headers: "A"`},
		{name: "extra body type", text: `{"base_url": "http://a/v1", "model": "m", "extra_body": []}`, wrong: "judge.extra_body: want an object, got array"},
		{name: "extra body's reserved field", text: `{"base_url": "http://a/v1", "model": "m", "extra_body": {"temperature": 1}}`, wrong: `judge.extra_body: "temperature" cannot be set here: use judge.temperature`},
		{name: "temperature", text: `{"base_url": "http://a/v1", "model": "m", "temperature": -1}`, wrong: "judge.temperature"},
		{name: "max tokens", text: `{"base_url": "http://a/v1", "model": "m", "max_tokens": -1}`, wrong: "judge.max_tokens"},
		{name: "concurrency", text: `{"base_url": "http://a/v1", "model": "m", "max_concurrency": -1}`, wrong: "judge.max_concurrency"},
		{name: "retries", text: `{"type": "simulated", "max_retries": -1}`, wrong: "judge.max_retries"},
		{name: "timeout", text: `{"type": "simulated", "timeout": -1}`, wrong: "judge.timeout"},
		{name: "timeout of zero", text: `{"type": "simulated", "timeout": 0}`, wrong: "judge.timeout: need a finite number of seconds above 0, got 0"},
		{name: "group timeout of zero", text: `{"base_url": "http://a/v1", "model": "m", "group_timeout": 0.0}`, wrong: "judge.group_timeout: need a finite number of seconds above 0, got 0"},
		{name: "concurrency of zero", text: `{"base_url": "http://a/v1", "model": "m", "max_concurrency": 0}`, wrong: "judge.max_concurrency: need at least 1, got 0"},
		{name: "no limit of tokens", text: `{"base_url": "http://a/v1", "model": "m", "max_tokens": 0}`, want: least},
		{name: "proxy", text: `{"base_url": "http://a/v1", "model": "m", "proxy": "ftp://x"}`, wrong: "judge.proxy"},
		{name: "missing key variable", text: `{"base_url": "http://a/v1", "model": "m", "api_key_env": "RB_TEST_NO_KEY"}`, wrong: "judge.api_key_env: the environment variable RB_TEST_NO_KEY is not set"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, rest, err := Parse([]byte(tc.text))
			if err == nil && string(rest) != tc.rest || (err == nil) != (tc.wrong == "") || err != nil && !strings.Contains(err.Error(), tc.wrong) {
				t.Errorf("got %s, %v; want %s, %q", rest, err, tc.rest, tc.wrong)
			}
			if tc.wrong == "" && !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %#v\nwant %#v", got, tc.want)
			}
			if err != nil && (fault.From(err).Code.Status() != fault.StatusInvalid || strings.Contains(err.Error(), "secret")) {
				t.Errorf("not a configuration error, or it shows a secret: %v", err)
			}
		})
	}
	cfg := Judge{APIKeyEnv: "RB_TEST_KEY"}
	if key, err := cfg.Key(); key != "sk-1" || err != nil {
		t.Errorf("key from the environment: %q, %v", key, err)
	}
}

func ptr[T any](v T) *T { return &v }

// FuzzParse: an error that names the field, or a complete configuration.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"base_url": "http://h/v1", "model": "m", "max_retries": 0, "extra_body": {"a": [1]}}`))
	f.Add([]byte(`{"type": "simulated", "sigma": 2, "timeout": 1.5}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg, _, err := Parse(data)
		if err != nil {
			return
		}
		if cfg.Timeout <= 0 || cfg.MaxConcurrency < 1 || cfg.MaxRetries == nil || *cfg.MaxRetries < 0 {
			t.Errorf("incomplete: %+v", cfg)
		}
	})
}
