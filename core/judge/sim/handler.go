package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"sync/atomic"

	"github.com/sashabaranov/go-openai"

	"github.com/rankbuffer/rankbuffer/core/judge"
)

// maxBody bounds a request, in bytes.
const maxBody = 64 << 20

// Handler serves a judge by OpenAI's protocol: POST /v1/chat/completions and
// GET /v1/models. Answers, token counts and failures are those of the judge in
// process; keys are not checked, and any model name will do.
func Handler(j judge.Judge) http.Handler {
	return newHandler(j, maxBody)
}

func newHandler(j judge.Judge, maxBody int64) http.Handler {
	h := &handler{judge: j, maxBody: maxBody}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", h.complete)
	mux.HandleFunc("GET /v1/models", h.models)
	mux.HandleFunc("/v1/chat/completions", notAllowed)
	mux.HandleFunc("/v1/models", notAllowed)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, "no such path: "+strconv.Quote(r.URL.Path)+"; the base URL ends in /v1")
	})
	return mux
}

type handler struct {
	judge   judge.Judge
	maxBody int64 // bytes of one request
	lastID  atomic.Uint64
}

func (h *handler) complete(w http.ResponseWriter, r *http.Request) {
	var body bytes.Buffer
	body.Grow(int(min(max(r.ContentLength, 0), h.maxBody, 1<<20)) + bytes.MinRead) // what is announced, within reason
	if _, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, h.maxBody)); err != nil {
		status := http.StatusBadRequest
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			status = http.StatusRequestEntityTooLarge
		}
		refuse(w, status, "reading the request: "+err.Error())
		return
	}
	var chat chatRequest
	if err := json.Unmarshal(body.Bytes(), &chat); err != nil {
		refuse(w, http.StatusBadRequest, "the request is not a chat completion request: "+err.Error())
		return
	}
	req, err := chat.judgeRequest()
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	// Any model may be named and only one is listed, so clients that check first
	// come with this question, which is about no text the judge could know.
	if m := req.Messages; len(m) == 1 && m[0].Content == judge.PreflightQuestion {
		respond(w, http.StatusOK, completionOf(h.lastID.Add(1), chat.Model, judge.Reply{Text: "yes", FinishReason: "stop"}))
		return
	}
	reply, err := h.judge.Judge(r.Context(), req)
	if err != nil {
		refuse(w, statusOf(err), err.Error())
		return
	}
	respond(w, http.StatusOK, completionOf(h.lastID.Add(1), chat.Model, reply))
}

// statusOf is the status an error came with, or 500.
func statusOf(err error) int {
	if failure := (*judge.Error)(nil); errors.As(err, &failure) && failure.StatusCode != 0 {
		return failure.StatusCode
	}
	return http.StatusInternalServerError
}

func (h *handler) models(w http.ResponseWriter, _ *http.Request) {
	respond(w, http.StatusOK, map[string]any{
		"object": "list", "data": []openai.Model{{ID: ModelName, Object: "model", OwnedBy: "rankbuffer"}},
	})
}

func notAllowed(w http.ResponseWriter, r *http.Request) {
	refuse(w, http.StatusMethodNotAllowed, r.Method+" is not allowed here")
}

func refuse(w http.ResponseWriter, status int, message string) {
	kind := "server_error"
	if status < http.StatusInternalServerError {
		kind = "invalid_request_error"
	}
	respond(w, status, openai.ErrorResponse{Error: &openai.APIError{Message: message, Type: kind}})
}

func respond(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil { // an infinite log-probability, say
		status, body = http.StatusInternalServerError, []byte(`{"error": {"message": "the answer cannot be encoded", "type": "server_error"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the peer may be gone; nobody is left to tell
}
