package openai

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/prompt"
)

// testServer is an OpenAI-compatible endpoint under a test's control.
type testServer struct {
	*httptest.Server
	answer func(madeCall) answered

	mu          sync.Mutex // protects the fields below
	calls       []madeCall
	connections int
	models      []string
	modelsCode  int
}

// madeCall is one chat completion that was asked for.
type madeCall struct {
	N        int // how many came before it
	Header   http.Header
	Body     map[string]any // as decoded from JSON
	Raw      string
	Messages []prompt.Message
}

// answered is what the server answers. Body, if set, is sent as it is; else a
// chat completion is made of the other fields.
type answered struct {
	Status int // 0: 200
	Header map[string]string
	Body   string
	Delay  time.Duration // before the answer, cut short when the client leaves

	Text         string
	FinishReason string // "": stop
	Reasoning    string
	Usage        judge.Usage
	Tokens       []judge.TokenProb
}

// always answers every call in the same way.
func always(r answered) func(madeCall) answered { return func(madeCall) answered { return r } }

// newServer starts a server that is closed when the test ends. It lists "model"
// as the model it serves.
func newServer(tb testing.TB, answer func(madeCall) answered) *testServer {
	tb.Helper()
	s := &testServer{answer: answer, models: []string{"model"}, modelsCode: http.StatusOK}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", s.complete)
	mux.HandleFunc("GET /v1/models", s.list)
	s.Server = httptest.NewUnstartedServer(mux)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.connections++
		}
	}
	s.Start()
	tb.Cleanup(s.Close)
	return s
}

// BaseURL is what judge.base_url must hold.
func (s *testServer) BaseURL() string { return s.URL + "/v1" }

// Serve sets the status and the names that the list of models answers with.
func (s *testServer) Serve(status int, models ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.modelsCode, s.models = status, models
}

// Calls returns the completions asked for so far.
func (s *testServer) Calls() []madeCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]madeCall(nil), s.calls...)
}

// Connections counts the connections that clients have opened.
func (s *testServer) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connections
}

func (s *testServer) complete(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	call := madeCall{Header: r.Header.Clone(), Raw: string(raw)}
	var typed struct {
		Messages []prompt.Message `json:"messages"`
	}
	if err != nil || json.Unmarshal(raw, &call.Body) != nil || json.Unmarshal(raw, &typed) != nil {
		http.Error(w, `{"error": {"message": "the body is not a chat completion request"}}`, http.StatusBadRequest)
		return
	}
	call.Messages = typed.Messages
	s.mu.Lock()
	call.N = len(s.calls)
	s.calls = append(s.calls, call)
	s.mu.Unlock()

	a := s.answer(call)
	if a.Delay > 0 {
		timer := time.NewTimer(a.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return
		}
	}
	a.write(w)
}

func (a answered) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	for name, value := range a.Header {
		w.Header().Set(name, value)
	}
	body := []byte(a.Body)
	if len(body) == 0 {
		body = a.completion()
	}
	if a.Status != 0 {
		w.WriteHeader(a.Status)
	}
	_, _ = w.Write(body) // a client that left is not the test's concern
}

func (a answered) completion() []byte {
	finish := a.FinishReason
	if finish == "" {
		finish = "stop"
	}
	message := map[string]any{"role": "assistant", "content": a.Text}
	if a.Reasoning != "" {
		message["reasoning"] = a.Reasoning
	}
	choice := map[string]any{"index": 0, "message": message, "finish_reason": finish}
	if a.Tokens != nil {
		choice["logprobs"] = map[string]any{"content": wireTokens(a.Tokens)}
	}
	body, err := json.Marshal(map[string]any{
		"id": "chatcmpl-test", "object": "chat.completion", "model": "model", "choices": []any{choice},
		"usage": map[string]any{
			"prompt_tokens": a.Usage.Prompt, "completion_tokens": a.Usage.Completion,
			"prompt_tokens_details": map[string]any{"cached_tokens": a.Usage.Cached},
		},
	})
	if err != nil {
		panic(err) // a test gave a log-probability that JSON cannot hold
	}
	return body
}

func wireTokens(tokens []judge.TokenProb) []any {
	out := make([]any, len(tokens))
	for i, t := range tokens {
		top := make([]any, len(t.Top))
		for k, a := range t.Top {
			top[k] = map[string]any{"token": a.Token, "logprob": a.LogProb}
		}
		out[i] = map[string]any{"token": t.Token, "logprob": t.LogProb, "top_logprobs": top}
	}
	return out
}

func (s *testServer) list(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data := make([]any, len(s.models))
	for i, name := range s.models {
		data[i] = map[string]any{"id": name, "object": "model"}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(s.modelsCode)
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": data})
}
