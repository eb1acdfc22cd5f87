package openai

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/sashabaranov/go-openai"

	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/ledger"
	"github.com/rankbuffer/rankbuffer/core/judge/options"
	"github.com/rankbuffer/rankbuffer/core/judge/stack"
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

func config() options.Judge {
	return options.Judge{BaseURLs: []string{"http://host:1/v1"}, Model: "m"}
}

func ask(kind prompt.Kind) judge.Request {
	return judge.Request{Kind: kind, Messages: []prompt.Message{{Role: "system", Content: "rules"}, {Role: "user", Content: "question"}}}
}

func build(tb testing.TB, cfg options.Judge, lines ...line) (judge.Judge, *ledger.Ledger, *script) {
	tb.Helper()
	s := &script{lines: lines}
	j, books := over(tb, cfg, s)
	return j, books, s
}

// over is a stack over a doer.
func over(tb testing.TB, cfg options.Judge, doer openai.HTTPDoer) (judge.Judge, *ledger.Ledger) {
	tb.Helper()
	judges, err := New(cfg, doer)
	if err != nil {
		tb.Fatal(err)
	}
	return stack.New(cfg, judges...)
}

// check compares a result, or looks for words in an error.
func check(t *testing.T, got, want any, err error, wrong string) {
	t.Helper()
	switch {
	case wrong == "" && err != nil:
		t.Errorf("got error %v, want %v", err, want)
	case wrong == "" && !reflect.DeepEqual(got, want):
		t.Errorf("got %v, want %v", got, want)
	case wrong != "" && err == nil:
		t.Errorf("got %v, want an error with %q", got, wrong)
	case wrong != "" && !strings.Contains(err.Error(), wrong):
		t.Errorf("got error %q, want one with %q", err, wrong)
	}
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

func ptr[T any](v T) *T { return &v }
