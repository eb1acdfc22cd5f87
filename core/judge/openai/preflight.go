package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/sashabaranov/go-openai"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/options"
	"github.com/rankbuffer/rankbuffer/core/prompt"
)

// Preflight asks every endpoint once whether it can be reached, takes the key and
// serves the model, so that a training run fails at its start and not at its
// first group. It lists the models; where that leaves a doubt, it asks for a
// completion of one token. It never retries; each endpoint has judge.timeout.
func Preflight(ctx context.Context, opts options.Judge) error {
	clients, err := newClients(opts, nil)
	if err != nil {
		return err
	}
	for _, c := range clients {
		defer func() { _ = c.Close() }()
		if err := judge.Within(ctx, opts.WithDefaults().Timeout.Duration(), c.preflight); err != nil {
			return err
		}
	}
	return nil
}

// preflight is the check of one endpoint.
func (c *client) preflight(ctx context.Context) error {
	served, err := c.models(ctx)
	var e *judge.Error
	switch {
	case err == nil && slices.Contains(served, c.model):
		return nil
	case errors.As(err, &e) && (e.StatusCode == 0 || e.StatusCode == http.StatusUnauthorized):
		return err
	}
	// Routers serve models they do not list, and some endpoints list none.
	_, err = c.Judge(ctx, judge.Request{
		Messages: []prompt.Message{{Role: "user", Content: judge.PreflightQuestion}}, MaxTokens: 1})
	switch {
	case errors.Is(err, fault.JudgeModelNotFound) && len(served) > 0:
		e := *judge.AsError(err)
		e.Err = fmt.Errorf("%w; it serves %s", e.Err, judge.Clip(strings.Join(served, ", ")))
		return &e
	case errors.Is(err, fault.JudgeEmpty), errors.Is(err, fault.JudgeTruncated):
		return nil // one token is seldom an answer
	case errors.Is(err, fault.JudgeRejected) && refusesLimit(err):
		return nil // real calls have other limits
	}
	return err
}

// refusesLimit tells whether an endpoint takes no completion of one token, or
// knows its limit by another name.
func refusesLimit(err error) bool {
	said := err.Error()
	return strings.Contains(said, "max_tokens") || strings.Contains(said, "max_completion_")
}

// models lists the names of what the endpoint serves.
func (c *client) models(ctx context.Context) ([]string, error) {
	body, err := c.send(ctx, http.MethodGet, "models", nil, 0)
	if err != nil {
		return nil, err
	}
	var list openai.ModelsList
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, badList(err)
	}
	names := make([]string, len(list.Models))
	for i, m := range list.Models {
		names[i] = m.ID
	}
	return names, nil
}

func badList(err error) *judge.Error {
	e := judge.Fail(fault.JudgeBadResponse, "judge.base_url", "the list of models cannot be read: %w", err)
	e.StatusCode = http.StatusOK // the endpoint can be reached
	return e
}
