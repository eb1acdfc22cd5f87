package judge

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/prompt"
)

// doerFunc is an openai.HTTPDoer. It reads the request's body, as a server would.
type doerFunc func(req *http.Request, body string) (*http.Response, error)

func (f doerFunc) Do(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	return f(req, string(body))
}

// line is one scripted response.
type line struct {
	status int
	header string // "Name: value"
	body   string
	err    error
}

// said is a chat completion with a text.
func said(text string) line {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return line{status: 200, body: fmt.Sprintf(`{"choices": [{"message": {"role": "assistant", "content": %s}, "finish_reason": "stop"}],
		"usage": {"prompt_tokens": 10, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}}}`, quoted)}
}

func (l line) response() (*http.Response, error) {
	if l.err != nil {
		return nil, l.err
	}
	h := http.Header{}
	if name, value, ok := strings.Cut(l.header, ": "); ok {
		h.Set(name, value)
	}
	return &http.Response{StatusCode: l.status, Status: fmt.Sprint(l.status, " ", http.StatusText(l.status)),
		Header: h, Body: io.NopCloser(strings.NewReader(l.body))}, nil
}

// script answers with its lines in turn, the last one over and over.
type script struct {
	mu     sync.Mutex // protects the fields below
	lines  []line
	bodies []string
	hosts  []string
}

func (s *script) Do(req *http.Request) (*http.Response, error) {
	return doerFunc(func(req *http.Request, body string) (*http.Response, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		l := s.lines[min(len(s.bodies), len(s.lines)-1)]
		s.bodies = append(s.bodies, body)
		s.hosts = append(s.hosts, req.URL.Host)
		return l.response()
	}).Do(req)
}

func (s *script) tries() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.bodies)
}

func config() Config {
	return Config{BaseURLs: []string{"http://host:1/v1"}, Model: "m"}
}

func ask(kind prompt.Kind) Request {
	return Request{Kind: kind, Messages: []prompt.Message{{Role: "system", Content: "rules"}, {Role: "user", Content: "question"}}}
}

func build(t *testing.T, cfg Config, lines ...line) (Judge, *Ledger, *script) {
	t.Helper()
	s := &script{lines: lines}
	j, ledger, err := newStack(cfg, s)
	if err != nil {
		t.Fatal(err)
	}
	return j, ledger, s
}

// body decodes a request body as sent.
func body(t *testing.T, raw string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal([]byte(raw), &out); err != nil {
		t.Fatalf("the body is not JSON: %v\n%s", err, raw)
	}
	return out
}

// judgeFunc is a Judge from a function.
type judgeFunc func(context.Context, Request) (Reply, error)

func (f judgeFunc) Judge(ctx context.Context, req Request) (Reply, error) { return f(ctx, req) }
func (f judgeFunc) Close() error                                          { return nil }

func ptr[T any](v T) *T { return &v }
