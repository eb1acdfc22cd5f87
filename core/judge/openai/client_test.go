package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/sashabaranov/go-openai"

	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/options"
	"github.com/rankbuffer/rankbuffer/core/prompt"
)

func TestBody(t *testing.T) {
	messages := []prompt.Message{
		{Role: "system", Content: "rules"}, {Role: "user", Content: "a <b> & \"c\" \u2028 \xff \x00"},
		{Role: "assistant", Content: ""}, {Role: "user", Content: "again"},
	}
	for _, tc := range []struct {
		name string
		cfg  options.Judge
		req  judge.Request
		want string // the body without messages
	}{
		{"defaults: temperature 0 is sent", options.Judge{}, judge.Request{}, `{"model":"m","temperature":0}`},
		{"everything configured", options.Judge{Temperature: 0.25, MaxTokens: 50, Seed: ptr(int64(-3)),
			ExtraBody: map[string]json.RawMessage{"chat_template_kwargs": []byte(`{"enable_thinking": false}`), "top_k": []byte("12345678901234567890")}},
			judge.Request{},
			`{"model":"m","temperature":0.25,"max_tokens":50,"seed":-3,"chat_template_kwargs":{"enable_thinking":false},"top_k":12345678901234567890}`},
		{"the request wins", options.Judge{Temperature: 0.25, MaxTokens: 50, Seed: ptr(int64(-3))},
			judge.Request{Temperature: ptr(0.0), MaxTokens: 1024, Seed: ptr(int64(0)), TopLogProbs: 5},
			`{"model":"m","temperature":0,"max_tokens":1024,"seed":0,"logprobs":true,"top_logprobs":5}`},
		{"no temperature", options.Judge{OmitTemperature: true}, judge.Request{Temperature: ptr(0.2)}, `{"model":"m"}`},
		{"the other token limit", options.Judge{ExtraBody: map[string]json.RawMessage{"max_completion_tokens": []byte("9")}}, judge.Request{MaxTokens: 5},
			`{"model":"m","temperature":0,"max_completion_tokens":9}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := tc.cfg
			cfg.BaseURLs, cfg.Model = config().BaseURLs, config().Model
			j, _, s := build(t, cfg, said("x"))
			tc.req.Messages = messages
			if _, err := j.Judge(t.Context(), tc.req); err != nil {
				t.Fatal(err)
			}
			got := make(map[string]json.RawMessage)
			if err := json.Unmarshal([]byte(s.bodies[0]), &got); err != nil {
				t.Fatalf("%v in %s", err, s.bodies[0])
			}
			var sent []prompt.Message
			if err := json.Unmarshal(got["messages"], &sent); err != nil {
				t.Fatal(err)
			}
			want := append([]prompt.Message(nil), messages...)
			want[1].Content = strings.ReplaceAll(want[1].Content, "\xff", "\uFFFD")
			if !reflect.DeepEqual(sent, want) {
				t.Errorf("messages %q, want %q", sent, want)
			}
			if !strings.Contains(s.bodies[0], "a <b> & ") {
				t.Errorf("HTML escapes in %s", s.bodies[0])
			}
			delete(got, "messages")
			var expected map[string]json.RawMessage
			if err := json.Unmarshal([]byte(tc.want), &expected); err != nil {
				t.Fatal(err)
			}
			if fmt.Sprintf("%s", got) != fmt.Sprintf("%s", expected) {
				t.Errorf("got %s, want %s", got, expected)
			}
		})
	}
}

func TestWithoutSystemRole(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"system:a user:b", "user:a\n\nb"},
		{"system:a user:b assistant:c user:d", "user:a\n\nb assistant:c user:d"},
		{"user:b assistant:c", "user:b assistant:c"},
		{"system:a system:b user:c", "user:a\n\nb\n\nc"},
		{"assistant:c system:a", "assistant:c user:a"},
	} {
		var messages []prompt.Message
		for _, m := range strings.Split(tc.in, " ") {
			role, content, _ := strings.Cut(m, ":")
			messages = append(messages, prompt.Message{Role: role, Content: content})
		}
		cfg := config()
		cfg.SystemRole = ptr(false)
		j, _, s := build(t, cfg, said("x"))
		if _, err := j.Judge(t.Context(), judge.Request{Messages: messages}); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range body(t, s.bodies[0])["messages"].([]any) {
			got = append(got, fmt.Sprint(m.(map[string]any)["role"], ":", m.(map[string]any)["content"]))
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%q became %q, want %q", tc.in, got, tc.want)
		}
	}
}

func TestReply(t *testing.T) {
	const tokens = `"logprobs": {"content": [{"token": "A", "logprob": -0.1, "bytes": [65], "top_logprobs": [{"token": "B", "logprob": -2, "bytes": null}]}]}`
	for _, tc := range []struct {
		name, body string
		want       judge.Reply
		wrong      string
	}{
		{name: "text", body: `{"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}`,
			want: judge.Reply{Text: "x", FinishReason: "stop", Usage: judge.Usage{Prompt: 5, Completion: 2}}},
		{name: "parts", body: `{"choices": [{"message": {"content": [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]}, "finish_reason": null}]}`,
			want: judge.Reply{Text: "xy"}},
		{name: "reasoning is not the answer", body: `{"choices": [{"message": {"content": "x", "reasoning": "{}", "reasoning_content": "{}"}}]}`, want: judge.Reply{Text: "x"}},
		{name: "odd usage", body: `{"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": "many"}}`, want: judge.Reply{Text: "x"}},
		{name: "negative usage", body: `{"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": -5}}`, want: judge.Reply{Text: "x"}},
		{name: "cached, no details of the rest", body: `{"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 8}, "completion_tokens_details": null}}`,
			want: judge.Reply{Text: "x", Usage: judge.Usage{Prompt: 9, Cached: 8}}},
		{name: "lone surrogate", body: `{"choices": [{"message": {"content": "\ud800x\udfff"}}]}`, want: judge.Reply{Text: "\uFFFDx\uFFFD"}},
		{name: "tokens", body: `{"choices": [{"message": {"content": "A"}, ` + tokens + `}]}`,
			want: judge.Reply{Text: "A", Tokens: []judge.TokenProb{{Token: "A", LogProb: -0.1, Top: []judge.Alternative{{Token: "B", LogProb: -2}}}}}},
		{name: "odd tokens", body: `{"choices": [{"message": {"content": "A"}, "logprobs": {"content": [{"token": 1}]}}]}`, want: judge.Reply{Text: "A"}},
		{name: "no tokens", body: `{"choices": [{"message": {"content": "A"}, "logprobs": null}]}`, want: judge.Reply{Text: "A"}},
		{name: "thinking used it all", body: `{"choices": [{"message": {"content": null, "reasoning": "hmm"}, "finish_reason": "length"}]}`, wrong: "enable_thinking"},
		{name: "thinking, older name", body: `{"choices": [{"message": {"content": "", "reasoning_content": "hmm"}}]}`, wrong: "3 bytes of reasoning"},
		{name: "web page", body: `<!DOCTYPE html>`, wrong: "judge.base_url: http://host:1/v1 does not answer like"},
		{name: "nesting attack", body: strings.Repeat("[", 1<<20), wrong: "does not answer like"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := config()
			cfg.MaxRetries = ptr(0)
			j, _, _ := build(t, cfg, line{status: 200, body: tc.body})
			got, err := j.Judge(t.Context(), judge.Request{TopLogProbs: 2})
			check(t, got, tc.want, err, tc.wrong)
		})
	}
}

// TestErrorsHelp: each says which field to look at and what the endpoint said.
func TestErrorsHelp(t *testing.T) {
	t.Setenv("RB_TEST_KEY", "sk-secret")
	for _, tc := range []struct {
		name  string
		line  line
		cfg   func(*options.Judge)
		words []string
	}{
		{"unreachable", line{err: syscall.ECONNREFUSED}, nil, []string{"judge.base_url", "http://host:1/v1", "connection refused"}},
		{"through a proxy", line{err: syscall.ECONNREFUSED}, func(c *options.Judge) { c.Proxy = "http://user:hunter22@proxy:3128" }, []string{"judge.proxy"}},
		{"password in the address", line{err: io.EOF}, func(c *options.Judge) { c.BaseURLs = []string{"http://me:hunter22@host/v1"} }, []string{"http://me:xxxxx@host/v1"}},
		{"401 with an escaped key", line{status: 401, body: `{"error": {"message": "bad key sk-\u0073ecret", "code": "sk\u002dsecret"}}`}, func(c *options.Judge) { c.APIKeyEnv = "RB_TEST_KEY" },
			[]string{"refused the API key", "[hidden]"}},
		{"401 with a key", line{status: 401, body: `{"error": {"message": "bad key sk-secret", "code": "invalid_api_key"}}`},
			func(c *options.Judge) { c.APIKeyEnv = "RB_TEST_KEY" }, []string{"judge.api_key_env: ", "environment variable RB_TEST_KEY", "bad key [hidden]", "invalid_api_key"}},
		{"401 without one", line{status: 401, body: `{"error": "Unauthorized"}`}, nil, []string{"set judge.api_key_env", "Unauthorized"}},
		{"model", line{status: 404, body: `{"object": "error", "message": "The model m does not exist.", "type": "NotFoundError", "code": 404}`}, nil,
			[]string{`judge.model: http://host:1/v1 does not serve the model "m"`, "http://host:1/v1", "does not exist"}},
		{"model, as OpenAI says it", line{status: 400, body: `{"error": {"message": "nope", "code": "model_not_found"}}`}, nil, []string{"judge.model"}},
		{"path", line{status: 404, body: `{"detail": "Not Found"}`}, nil, []string{"judge.base_url", "/v1", "Not Found"}},
		{"overflow of vLLM", line{status: 400, body: `{"error": {"message": "This model's maximum context length is 8192 tokens. However, you requested 9000", "type": "BadRequestError", "param": null, "code": 400}}`}, nil,
			[]string{"13 bytes", "max_anchors", "longer context", "8192"}},
		{"overflow of OpenAI", line{status: 400, body: `{"error": {"message": "too long", "code": "context_length_exceeded"}}`}, nil, []string{"max_anchors"}},
		{"overflow of llama.cpp", line{status: 400, body: `{"error": {"message": "the request exceeds the available context size", "code": 400}}`}, nil, []string{"max_anchors"}},
		{"not JSON", line{status: 502, body: "<html>Bad gateway</html>"}, nil, []string{"502", "Bad gateway"}},
		{"odd error", line{status: 500, body: `{"error": {"message": {"a": 1}}}`}, nil, []string{"500", `{"a": 1}`}},
		{"redirect", line{status: 308, header: "Location: https://host/v1"}, nil, []string{"redirects to", "https://host/v1", "judge.base_url"}},
		{"huge error", line{status: 400, body: `{"error": {"message": "` + strings.Repeat("x", 1<<20) + `"}}`}, nil, []string{"xxx"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cfg := config()
			cfg.MaxRetries = ptr(0)
			if tc.cfg != nil {
				tc.cfg(&cfg)
			}
			j, _, _ := build(t, cfg, tc.line)
			_, err := j.Judge(t.Context(), ask(prompt.Coarse))
			if err == nil {
				t.Fatal("no error")
			}
			for _, word := range tc.words {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("no %q in %q", word, err)
				}
			}
			if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "hunter22") || len(err.Error()) > 1500 {
				t.Errorf("shows a secret or is too long: %q", err)
			}
		})
	}
}

// TestErrorVocabulary: the endpoint's own error is there to be inspected.
func TestErrorVocabulary(t *testing.T) {
	j, _, _ := build(t, config(), line{status: 400, body: `{"error": {"message": "no", "type": "T", "code": 7}}`})
	_, err := j.Judge(t.Context(), ask(prompt.Coarse))
	var api *openai.APIError
	if !errors.As(err, &api) || api.HTTPStatusCode != 400 || api.Type != "T" || api.Code != 7 {
		t.Errorf("got %#v from %v", api, err)
	}
	j, _, _ = build(t, config(), line{status: 400, body: "plain"})
	_, err = j.Judge(t.Context(), ask(prompt.Coarse))
	var req *openai.RequestError
	if !errors.As(err, &req) || req.HTTPStatusCode != 400 || string(req.Body) != "plain" {
		t.Errorf("got %#v from %v", req, err)
	}
}

// TestSecretsNeverShow: the key is sent, and shown nowhere, whatever the endpoint
// echoes.
func TestSecretsNeverShow(t *testing.T) {
	const key, header = "sk-secret-key", "secret-header-value"
	cfg := config()
	cfg.APIKey, cfg.Headers, cfg.Proxy = key, map[string]options.Secret{"X-Token": header}, "http://u:secret-proxy@p:1"
	var sent http.Header
	echo := doerFunc(func(req *http.Request, _ string) (*http.Response, error) {
		sent = req.Header
		return line{status: 400, body: fmt.Sprintf(`{"error": {"message": "you sent %s and %s"}}`, key, header)}.response()
	})
	j, books := over(t, cfg, echo)
	_, err := j.Judge(t.Context(), ask(prompt.Coarse))
	if sent.Get("Authorization") != "Bearer "+key || sent.Get("X-Token") != header {
		t.Errorf("sent %v", sent)
	}
	clients, cerr := newClients(cfg, echo)
	if cerr != nil {
		t.Fatal(cerr)
	}
	encoded, merr := json.Marshal(cfg)
	if merr != nil {
		t.Fatal(merr)
	}
	var api *openai.APIError
	errors.As(err, &api)
	for i, shown := range []any{err, errors.Unwrap(err), api, cfg, &cfg, cfg.APIKey, cfg.Headers, j, clients, clients[0], *clients[0], books, encoded} {
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
			if text := fmt.Sprintf(format, shown); strings.Contains(text, "secret") {
				t.Errorf("%d as %s shows %s", i, format, text)
			}
		}
	}
	for _, bad := range []options.Secret{"sk-secret\nkey", "sk-secret\x7f"} {
		cfg.APIKey = bad
		if err := cfg.Validate(); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("key with a control character: %v", err)
		}
	}
}
