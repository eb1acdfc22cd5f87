package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/options"
)

// statusError is the error of a response other than 2xx.
func (c *client) statusError(resp *http.Response, body []byte, promptSize int) *judge.Error {
	api := c.apiError(resp.StatusCode, resp.Status, body)
	if 300 <= resp.StatusCode && resp.StatusCode < 400 {
		e := judge.Fail(fault.JudgeWrongAddress, "judge.base_url", "%s redirects to %q: set this option to where the endpoint is: %w",
			c.url.Redacted(), judge.Clip(c.hide(resp.Header.Get("Location"))), api)
		e.StatusCode = resp.StatusCode
		return e
	}
	e := c.explain(resp.StatusCode, api, promptSize)
	e.RetryAfter = retryAfter(resp.Header, time.Now())
	return e
}

// errorInBody is the error that some routers send with status 200.
func (c *client) errorInBody(body []byte) *judge.Error {
	api := c.apiError(http.StatusOK, "200 OK", body)
	status := http.StatusOK
	var known *openai.APIError
	if errors.As(api, &known) {
		if code, err := strconv.Atoi(fmt.Sprint(known.Code)); err == nil && http.StatusText(code) != "" {
			status = code
		}
	}
	return c.explain(status, api, 0)
}

// explain says what a status means for the configuration and whether another
// attempt can help.
func (c *client) explain(status int, api error, promptSize int) *judge.Error {
	e := c.failure(status, api, promptSize)
	e.StatusCode = status
	return e
}

func (c *client) failure(status int, api error, promptSize int) *judge.Error {
	at := c.url.Redacted()
	switch words := strings.ToLower(api.Error()); {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		if c.keyFrom == "" {
			return judge.Fail(fault.JudgeUnauthorized, "judge.api_key_env",
				"%s refused a request without an API key; set judge.api_key_env to the environment variable that holds it: %w", at, api)
		}
		return judge.Fail(fault.JudgeUnauthorized, c.keyFrom, "%s refused the API key%s: %w", at, c.keyIn, api)
	case isOverflow(status, words):
		return judge.Fail(fault.JudgeContextOverflow, "judge.model", "the prompt, whose messages hold %d bytes, is longer than the context of %q; "+
			"use fewer or shorter anchors (max_anchors) or a judge with a longer context: %w", promptSize, c.model, api)
	case isUnknownModel(status, words):
		return judge.Fail(fault.JudgeModelNotFound, "judge.model", "%s does not serve the model %q: %w", at, c.model, api)
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed:
		return judge.Fail(fault.JudgeWrongAddress, "judge.base_url", "nothing serves %s/chat/completions; is this address right (most end in /v1), "+
			"and does it serve judge.model = %q? %w", at, c.model, api)
	case status == http.StatusPaymentRequired, status == http.StatusTooManyRequests && strings.Contains(words, "insufficient_quota"):
		return judge.Fail(fault.JudgeNoQuota, "", "the account at %s has no quota left: %w", at, api)
	case status == http.StatusTooManyRequests:
		return judge.Fail(fault.JudgeRateLimited, "judge.max_concurrency", "%s refused too many requests: %w", at, api).Retry()
	case status >= 500 || status == http.StatusRequestTimeout:
		return judge.Fail(fault.JudgeServerError, "", "%s reported an error of its own: %w", at, api).Retry()
	}
	return judge.Fail(fault.JudgeRejected, "", "%s rejected the request: %w", at, api)
}

// isOverflow knows the words of OpenAI, vLLM, SGLang, llama.cpp and others.
func isOverflow(status int, said string) bool {
	if status != http.StatusBadRequest && status != http.StatusRequestEntityTooLarge && status != http.StatusUnprocessableEntity {
		return false
	}
	for _, words := range []string{
		"context_length_exceeded", "maximum context length", "context length", "context size",
		"maximum model length", "max_model_len", "context window",
	} {
		if strings.Contains(said, words) {
			return true
		}
	}
	return false
}

func isUnknownModel(status int, said string) bool {
	if strings.Contains(said, "model_not_found") {
		return true
	}
	return (status == http.StatusNotFound || status == http.StatusBadRequest) && strings.Contains(said, "model") &&
		(strings.Contains(said, "not exist") || strings.Contains(said, "not found") || strings.Contains(said, "unknown model"))
}

// maxSaid bounds what an error quotes of the endpoint's words, in bytes.
const maxSaid = 500

// quoted is an error in the endpoint's own words. It wraps go-openai's error.
type quoted struct {
	status, words string
	error
}

func (q quoted) Error() string { return q.status + ": " + q.words }
func (q quoted) Unwrap() error { return q.error }

// apiError reads an error body: an *openai.APIError if it is one, else an
// *openai.RequestError with what came. Secrets are taken out first.
func (c *client) apiError(code int, status string, body []byte) error {
	text, status := c.hide(string(body)), c.hide(status)
	var wire struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"` // older vLLM: the error itself is the body
		Detail  json.RawMessage `json:"detail"`  // FastAPI
	}
	known := &openai.APIError{}
	if json.Unmarshal([]byte(text), &wire) == nil {
		switch {
		case json.Unmarshal(wire.Error, known) == nil && known.Message != "":
		case json.Unmarshal(wire.Error, &known.Message) == nil && known.Message != "":
		case wire.Message != "" && json.Unmarshal([]byte(text), known) == nil:
		default:
			*known = openai.APIError{Message: strings.Trim(string(wire.Detail), `"`)}
		}
	}
	if known.Message == "" {
		text = judge.Shorten(text, maxSaid)
		return quoted{status, text, &openai.RequestError{HTTPStatus: status, HTTPStatusCode: code,
			Err: errors.New("the body is no error message"), Body: []byte(text)}}
	}
	known.HTTPStatus, known.HTTPStatusCode = status, code
	known.Message = judge.Shorten(c.hide(known.Message), maxSaid) // escapes may have hidden a secret from hide
	if code := fmt.Sprint(known.Code); known.Code != nil && code != strconv.Itoa(known.HTTPStatusCode) {
		known.Message += " (code " + judge.Clip(c.hide(code)) + ")"
	}
	return quoted{status, known.Message, known}
}

// retryAfter reads how long the endpoint asks to wait: Retry-After in seconds or
// as a date (RFC 9110, section 10.2.3), or OpenAI's retry-after-ms.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return options.Seconds(ms / 1000).Duration()
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(value, 64); err == nil {
		if s > 0 {
			return options.Seconds(s).Duration()
		}
		return 0
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}
