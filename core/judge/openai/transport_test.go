package openai

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/ledger"
	"github.com/rankbuffer/rankbuffer/core/judge/options"
	"github.com/rankbuffer/rankbuffer/core/prompt"
)

// connect builds a stack over a server; it is closed with the test, before the
// server is.
func connect(t *testing.T, cfg options.Judge, urls ...string) (judge.Judge, *ledger.Ledger) {
	t.Helper()
	cfg.BaseURLs, cfg.Model = urls, "model"
	if cfg.Backoff == 0 {
		cfg.Backoff = 0.001
	}
	j, books := over(t, cfg, nil)
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return j, books
}

func question(content string) judge.Request {
	return judge.Request{Kind: prompt.Coarse, Messages: []prompt.Message{{Role: "user", Content: content}}}
}

var yes = answered{Text: "yes", Usage: judge.Usage{Prompt: 7, Completion: 1, Cached: 5}}

// TestConnectionsAreReused: as many connections as can be in flight, however many
// calls are made.
func TestConnectionsAreReused(t *testing.T) {
	var inFlight, peak atomic.Int64
	server := newServer(t, func(madeCall) answered {
		n := inFlight.Add(1)
		defer inFlight.Add(-1)
		for old := peak.Load(); n > old && !peak.CompareAndSwap(old, n); old = peak.Load() {
		}
		return yes
	})
	j, books := connect(t, options.Judge{MaxConcurrency: 8}, server.BaseURL())
	for range 3 {
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				reply, err := j.Judge(t.Context(), question(strings.Repeat("long ", 2_000)))
				if err != nil || reply.Text != "yes" || reply.Usage != yes.Usage {
					t.Errorf("got %+v, %v", reply, err)
				}
			})
		}
		wg.Wait()
	}
	if n := server.Connections(); n > 8 {
		t.Errorf("%d connections for 300 calls, 8 in flight", n)
	}
	if peak.Load() > 8 {
		t.Errorf("%d in flight, want 8 at most", peak.Load())
	}
	if got := books.Report().Kinds["coarse"]; got.Tried != 300 || got.Succeeded != 300 || got.Tokens.Cached != 1500 || got.Latency.P50 <= 0 {
		t.Errorf("ledger %+v", got)
	}
}

// TestServerHangsUp: a connection closed before the answer is tried again.
func TestServerHangsUp(t *testing.T) {
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if calls.Add(1) < 3 {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				err = conn.Close()
			}
			if err != nil {
				t.Error(err)
			}
			return
		}
		_, _ = io.WriteString(w, `{"choices": [{"message": {"content": "yes"}}]}`)
	}))
	defer server.Close()
	j, books := connect(t, options.Judge{}, server.URL)
	reply, err := j.Judge(t.Context(), question("?"))
	if err != nil || reply.Text != "yes" {
		t.Errorf("got %+v, %v", reply, err)
	}
	if got := books.Report().Total; got.Succeeded != 1 || got.Retried != got.Tried-1 || got.Failed != 0 {
		t.Errorf("ledger %+v", got)
	}
}

// TestRealTimeout: a call that hangs ends by its own time or by the caller's, and
// leaves no goroutine behind (TestMain looks).
func TestRealTimeout(t *testing.T) {
	server := newServer(t, always(answered{Text: "late", Delay: time.Hour}))
	retries := 1
	j, _ := connect(t, options.Judge{Timeout: 0.02, MaxRetries: &retries}, server.BaseURL())
	if _, err := j.Judge(t.Context(), question("?")); judge.FailureOf(err) != judge.TimedOut || !strings.Contains(err.Error(), "judge.timeout") {
		t.Errorf("got %v", err)
	}
	if n := len(server.Calls()); n != 2 {
		t.Errorf("%d calls, want 2", n)
	}

	j, _ = connect(t, options.Judge{}, server.BaseURL())
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	for range 20 {
		wg.Go(func() {
			if _, err := j.Judge(ctx, question("?")); judge.FailureOf(err) != judge.Cancelled || !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
	}
	for len(server.Calls()) < 22 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	wg.Wait()
}

// TestPoolOverHTTP: with one endpoint gone, all requests are answered by the other.
func TestPoolOverHTTP(t *testing.T) {
	alive := newServer(t, always(yes))
	gone := newServer(t, always(yes))
	gone.Close()
	j, books := connect(t, options.Judge{}, gone.BaseURL(), alive.BaseURL())
	for affinity := range uint64(20) {
		req := question("?")
		req.Affinity = affinity
		if _, err := j.Judge(t.Context(), req); err != nil {
			t.Error(err)
		}
	}
	if got := books.Report().Total; got.Succeeded != 20 || got.Failed != 0 || got.Retried == 0 || got.Retried > 3 {
		t.Errorf("ledger %+v, want few retries: the endpoint that is gone rests", got)
	}
}

// TestProxy: the configured one is used, the environment's is not.
func TestProxy(t *testing.T) {
	var proxied atomic.Int64
	onward := &http.Transport{} // reads no environment, which net/http remembers from its first look
	server := newServer(t, always(yes))
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxied.Add(1)
		r.RequestURI = ""
		resp, err := onward.RoundTrip(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer func() { _ = resp.Body.Close() }()
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	}))
	defer proxy.Close()
	defer onward.CloseIdleConnections()

	// net/http never sends loopback addresses to the environment's proxy, so one
	// that is none and yet ends on this machine shows who is asked.
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	none := 0
	j, _ := connect(t, options.Judge{MaxRetries: &none}, "http://0.0.0.0:1/v1")
	if _, err := j.Judge(t.Context(), question("?")); !errors.Is(err, fault.JudgeUnreachable) || proxied.Load() != 0 {
		t.Errorf("%d through the proxy, %v", proxied.Load(), err)
	}

	j, _ = connect(t, options.Judge{Proxy: options.Secret(proxy.URL)}, server.BaseURL())
	if _, err := j.Judge(t.Context(), question("?")); err != nil || proxied.Load() != 1 {
		t.Errorf("%d through the proxy, %v", proxied.Load(), err)
	}
}

// TestEndlessAnswer: an answer without end is cut off, not held in memory.
func TestEndlessAnswer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		piece := []byte(strings.Repeat(" ", 1<<20))
		for range 1000 {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
		t.Error("the whole gigabyte was read")
	}))
	defer server.Close()
	j, _ := connect(t, options.Judge{}, server.URL)
	if _, err := j.Judge(t.Context(), question("?")); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("got %v", err)
	}
}

// TestLargePrompt passes through the connection whole.
func TestLargePrompt(t *testing.T) {
	content := strings.Repeat("0123456789 \"é漢🙂\n", 40_000)
	server := newServer(t, func(c madeCall) answered {
		if len(c.Messages) != 1 || c.Messages[0].Content != content {
			t.Error("the prompt arrived changed")
		}
		return yes
	})
	j, _ := connect(t, options.Judge{}, server.BaseURL())
	if _, err := j.Judge(t.Context(), question(content)); err != nil {
		t.Error(err)
	}
}

func TestPreflight(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free := "http://" + listener.Addr().String() + "/v1"
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	unknown := answered{Status: 404, Body: `{"error": {"message": "The model does not exist."}}`}
	for _, tc := range []struct {
		name   string
		list   int
		models []string
		answer answered
		calls  int
		is     error
		words  string
	}{
		{"listed", 200, []string{"other", "model"}, yes, 0, nil, ""},
		{"not listed but served", 200, []string{"other"}, yes, 1, nil, ""},
		{"not served", 200, []string{"other", "more"}, unknown, 1, fault.JudgeModelNotFound, "it serves other, more"},
		{"no list", 404, nil, yes, 1, nil, ""},
		{"no list, no such model", 404, nil, unknown, 1, fault.JudgeModelNotFound, "judge.model"},
		{"no list, one token of reasoning", 501, nil, answered{FinishReason: "length", Reasoning: "Hm"}, 1, nil, ""},
		{"key refused", 401, nil, yes, 0, fault.JudgeUnauthorized, "judge.api_key_env"},
		{"listing forbidden", 403, nil, yes, 1, nil, ""},
		{"key refused later", 404, nil, answered{Status: 401}, 1, fault.JudgeUnauthorized, "judge.api_key_env"},
		{"hangs", 404, nil, answered{Delay: time.Hour}, 1, context.DeadlineExceeded, "judge.timeout"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server := newServer(t, always(tc.answer))
			server.Serve(tc.list, tc.models...)
			cfg := options.Judge{BaseURLs: []string{server.BaseURL()}, Model: "model", Timeout: 30}
			if tc.name == "hangs" {
				cfg.Timeout = 0.05
			}
			err := Preflight(t.Context(), cfg)
			if !errors.Is(err, tc.is) || (tc.is == nil) != (err == nil) || err != nil && !strings.Contains(err.Error(), tc.words) {
				t.Errorf("got %v, want %v with %q", err, tc.is, tc.words)
			}
			calls := server.Calls()
			if len(calls) != tc.calls {
				t.Errorf("%d completions, want %d", len(calls), tc.calls)
			}
			for _, c := range calls {
				if c.Body["max_tokens"] != 1.0 {
					t.Errorf("asked for %v", c.Body)
				}
			}
		})
	}
	one := newServer(t, always(yes))
	err = Preflight(t.Context(), options.Judge{BaseURLs: []string{one.BaseURL(), free}, Model: "model"})
	if !errors.Is(err, fault.JudgeUnreachable) || !strings.Contains(err.Error(), "judge.base_url") || !strings.Contains(err.Error(), free) {
		t.Errorf("second endpoint gone: %v", err)
	}
	if err := Preflight(t.Context(), options.Judge{}); !errors.Is(err, fault.MissingField) {
		t.Errorf("no configuration: %v", err)
	}
}
