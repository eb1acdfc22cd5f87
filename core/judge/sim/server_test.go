package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/sashabaranov/go-openai"
	"go.uber.org/goleak"

	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/prompt"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// start serves j for the time of the test.
func start(t testing.TB, j judge.Judge) (*Server, *http.Client) {
	t.Helper()
	server := Start(listen(t), j)
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		if err := server.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return server, client
}

func post(t testing.TB, client *http.Client, url string, body any) (status int, answer []byte) {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Post(url+"/chat/completions", "application/json", bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, answer
}

// overHTTP asks a request as a client does and reads the reply back.
func overHTTP(t testing.TB, client *http.Client, url string, req judge.Request) judge.Reply {
	t.Helper()
	body := map[string]any{"model": "m", "messages": req.Messages, "temperature": 0, "chat_template_kwargs": map[string]any{}}
	if req.Seed != nil {
		body["seed"] = *req.Seed
	}
	if req.TopLogProbs > 0 {
		body["logprobs"], body["top_logprobs"] = true, req.TopLogProbs
	}
	status, answer := post(t, client, url, body)
	var chat openai.ChatCompletionResponse
	if err := json.Unmarshal(answer, &chat); err != nil || status != http.StatusOK || len(chat.Choices) != 1 {
		t.Fatalf("got %d %s (%v)", status, answer, err)
	}
	choice := chat.Choices[0]
	reply := judge.Reply{Text: choice.Message.Content, FinishReason: string(choice.FinishReason),
		Usage: judge.Usage{Prompt: chat.Usage.PromptTokens, Completion: chat.Usage.CompletionTokens, Cached: chat.Usage.PromptTokensDetails.CachedTokens}}
	if choice.LogProbs != nil {
		for _, token := range choice.LogProbs.Content {
			tp := judge.TokenProb{Token: token.Token, LogProb: token.LogProb}
			for _, alt := range token.TopLogProbs {
				tp.Top = append(tp.Top, judge.Alternative{Token: alt.Token, LogProb: alt.LogProb})
			}
			reply.Tokens = append(reply.Tokens, tp)
		}
	}
	return reply
}

func TestHTTPEqualsInProcess(t *testing.T) {
	noisy := Config{Sigma: 2, Drift: 1, Taste: 1, Crowding: 0.1, PositionBias: 0.3, Seed: 5}
	s := newSim(t, noisy)
	server, client := start(t, newSim(t, noisy))
	cases := append(everyKind[:len(everyKind):len(everyKind)], everyKind[0])
	cases[len(cases)-1].kind = prompt.CoarseOrder
	for _, c := range cases {
		for i := range 3 {
			req := request(t, c.kind, c.vars)
			if seed := int64(i); i > 0 {
				req.Seed, req.TopLogProbs = &seed, i
			}
			want, got := answerOf(t, s, req), overHTTP(t, client, server.URL(), req)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: over HTTP %+v, in process %+v", c.kind, got, want)
			}
			merged := req
			merged.Messages = []prompt.Message{{Role: "user", Content: req.Messages[0].Content + "\n\n" + req.Messages[1].Content}}
			if got := overHTTP(t, client, server.URL(), merged); got.Text != want.Text {
				t.Errorf("%s, system message merged: over HTTP %q, in process %q", c.kind, got.Text, want.Text)
			}
		}
	}
}

func TestHTTPCarriesEveryByte(t *testing.T) {
	text := "tab\tnul\x00 cr\r\n <b>&amp;</b> \u2028 é \U0001F33F \"quoted\" \\ "
	s := newSim(t, Config{Qualities: map[string]float64{text: 1, "v": 0}})
	server, client := start(t, s)
	req := request(t, prompt.Fine, prompt.Vars{Candidates: []string{text, "v"}})
	if got, want := overHTTP(t, client, server.URL(), req), answerOf(t, s, req); !reflect.DeepEqual(got, want) {
		t.Errorf("over HTTP %+v, in process %+v", got, want)
	}
}

func TestContentAsParts(t *testing.T) {
	server, client := start(t, newSim(t, Config{}))
	req := request(t, prompt.Pair, prompt.Vars{Candidates: []string{"v3", "v5"}})
	half := len(req.Messages[1].Content) / 2
	text := func(s string) map[string]string { return map[string]string{"type": "text", "text": s} }
	body := map[string]any{"model": "m", "messages": []any{req.Messages[0],
		map[string]any{"role": "user", "content": []any{text(req.Messages[1].Content[:half]), text(req.Messages[1].Content[half:])}}}}
	status, answer := post(t, client, server.URL(), body)
	if status != http.StatusOK || !strings.Contains(string(answer), `{\"winner\": \"B\"}`) {
		t.Errorf("got %d %s", status, answer)
	}
}

func TestHTTPErrors(t *testing.T) {
	server, client := start(t, newSim(t, Config{}))
	failing, _ := start(t, newSim(t, Config{FailureRate: 1}))
	good := request(t, prompt.Pair, prompt.Vars{Candidates: []string{"v3", "v5"}}).Messages
	unknown := request(t, prompt.Pair, prompt.Vars{Candidates: []string{"v3", "?"}}).Messages
	with := func(key string, value any) map[string]any {
		body := map[string]any{"model": "m", "messages": good}
		body[key] = value
		return body
	}
	for name, c := range map[string]struct {
		url    string
		body   any
		status int
		kind   string
		want   string
	}{
		"simulated failure": {failing.URL(), with("model", "m"), 500, "server_error", "simulated failure"},
		"unknown text":      {server.URL(), with("messages", unknown), 400, "invalid_request_error", "shown as B"},
		"not ours":          {server.URL(), with("messages", []prompt.Message{{Role: "user", Content: "hi"}}), 400, "invalid_request_error", "preamble"},
		"no messages":       {server.URL(), with("messages", nil), 400, "invalid_request_error", "no messages"},
		"not an object":     {server.URL(), []int{1}, 400, "invalid_request_error", "chat completion"},
		"no model":          {server.URL(), with("model", ""), 400, "invalid_request_error", "model"},
		"streaming":         {server.URL(), with("stream", true), 400, "invalid_request_error", "stream"},
		"several answers":   {server.URL(), with("n", 2), 400, "invalid_request_error", "n:"},
		"top without":       {server.URL(), with("top_logprobs", 2), 400, "invalid_request_error", "logprobs"},
		"top too many":      {server.URL(), with("top_logprobs", 21), 400, "invalid_request_error", "top_logprobs"},
		"a picture": {server.URL(), with("messages", []any{map[string]any{"role": "user", "content": []any{map[string]string{"type": "image_url"}}}}),
			400, "invalid_request_error", "image_url"},
		"wrong path": {server.URL() + "/oops", with("model", "m"), 404, "invalid_request_error", "no such path"},
	} {
		status, answer := post(t, client, c.url, c.body)
		var body openai.ErrorResponse
		if err := json.Unmarshal(answer, &body); err != nil {
			t.Errorf("%s: got %d %q: %v", name, status, answer, err)
		}
		if status != c.status || body.Error.Type != c.kind || !strings.Contains(body.Error.Message, c.want) {
			t.Errorf("%s: got %d %s, want %d %s that says %q", name, status, answer, c.status, c.kind, c.want)
		}
	}
}

func TestTooLargeRequest(t *testing.T) {
	body := `{"model": "m", "messages": []}`
	for limit, want := range map[int64]int{int64(len(body)): http.StatusBadRequest, int64(len(body)) - 1: http.StatusRequestEntityTooLarge} {
		w := httptest.NewRecorder()
		newHandler(newSim(t, Config{}), limit).ServeHTTP(w, httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(body)))
		if w.Code != want {
			t.Errorf("%d bytes allowed, %d sent: got %d %s, want %d", limit, len(body), w.Code, w.Body, want)
		}
	}
}

func TestModels(t *testing.T) {
	server, client := start(t, newSim(t, Config{}))
	resp, err := client.Get(server.URL() + "/models")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var list struct {
		Object string
		Data   []struct{ ID, Object string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		t.Fatal(err)
	}
	if list.Object != "list" || len(list.Data) != 1 || list.Data[0].ID != ModelName || list.Data[0].Object != "model" {
		t.Errorf("got %+v", list)
	}
	resp, err = client.Get(server.URL() + "/chat/completions")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET of completions: got %d, want 405", resp.StatusCode)
	}
}

// gate is a judge whose calls wait until it opens or their context ends.
type gate struct {
	inner   judge.Judge
	entered chan struct{}
	open    chan struct{}
}

func (g gate) Judge(ctx context.Context, req judge.Request) (judge.Reply, error) {
	g.entered <- struct{}{}
	select {
	case <-g.open:
		return g.inner.Judge(ctx, req)
	case <-ctx.Done():
		return judge.Reply{}, ctx.Err()
	}
}

func TestStopLetsRunningCallsFinish(t *testing.T) {
	g := gate{newSim(t, Config{}), make(chan struct{}), make(chan struct{})}
	l := listen(t)
	server := Start(l, g)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	answered := make(chan string, 1)
	go func() {
		req := request(t, prompt.Pair, prompt.Vars{Candidates: []string{"v3", "v5"}})
		answered <- overHTTP(t, client, fmt.Sprintf("http://%s/v1", l.Addr()), req).Text
	}()
	<-g.entered
	stopped := make(chan error, 1)
	go func() { stopped <- server.Stop(context.Background()) }()
	<-server.Done()
	close(g.open)
	if got := <-answered; got != `{"winner": "B"}` {
		t.Errorf("got %q", got)
	}
	if err := <-stopped; err != nil {
		t.Errorf("stop: %v", err)
	}
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
		t.Error("still listening")
	}
}

func TestStopCutsOffWhatIsLate(t *testing.T) {
	g := gate{newSim(t, Config{}), make(chan struct{}), nil} // never opens
	server := Start(listen(t), g)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	var wg sync.WaitGroup
	wg.Go(func() {
		resp, err := client.Post(server.URL()+"/chat/completions", "application/json", strings.NewReader(`{"model": "m"}`))
		if err == nil {
			resp.Body.Close()
		}
	})
	<-g.entered
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := server.Stop(ctx); err == nil || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("got %v, want an error about requests cut off", err)
	}
	wg.Wait()
	if err := server.Stop(context.Background()); err != nil {
		t.Errorf("a second stop: %v", err)
	}
}

func TestStopReportsADeadListener(t *testing.T) {
	l := listen(t)
	l.Close()
	server := Start(l, newSim(t, Config{}))
	<-server.Done()
	if err := server.Stop(context.Background()); err == nil || !strings.Contains(err.Error(), "serving") {
		t.Errorf("got %v", err)
	}
}

func TestConcurrentCallsAgree(t *testing.T) {
	s := newSim(t, Config{Sigma: 2, MalformedRate: 0.1})
	server, client := start(t, s)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			req := request(t, prompt.Fine, prompt.Vars{Candidates: []string{"v3", "v5", "v9"}})
			seed := int64(i)
			req.Seed = &seed
			if got, want := overHTTP(t, client, server.URL(), req), answerOf(t, newSim(t, Config{Sigma: 2, MalformedRate: 0.1}), req); !reflect.DeepEqual(got, want) {
				t.Errorf("seed %d: got %+v, want %+v", i, got, want)
			}
		})
	}
	wg.Wait()
}

func (g gate) Close() error { return g.inner.Close() }

func BenchmarkJudge(b *testing.B) {
	long := strings.Repeat("word ", 600)
	known := map[string]float64{}
	anchors := []string{}
	for i := range 9 {
		known[fmt.Sprint(i, long)] = float64(i)
		anchors = append(anchors, fmt.Sprint(i, long))
	}
	s := newSim(b, Config{Qualities: known, Sigma: 1})
	req := request(b, prompt.Coarse, prompt.Vars{Anchors: anchors, Candidates: anchors[:1]})
	b.Run("render", func(b *testing.B) {
		for b.Loop() {
			request(b, prompt.Coarse, prompt.Vars{Anchors: anchors, Candidates: anchors[:1]})
		}
	})
	b.Run("in process", func(b *testing.B) {
		for b.Loop() {
			answerOf(b, s, req)
		}
	})
	b.Run("http", func(b *testing.B) {
		server, client := start(b, s)
		for b.Loop() {
			overHTTP(b, client, server.URL(), req)
		}
	})
}
