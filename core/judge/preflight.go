package judge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/sashabaranov/go-openai"

	"github.com/rankbuffer/rankbuffer/core/prompt"
)

// PreflightQuestion is what Preflight asks where the list of models leaves a doubt.
const PreflightQuestion = "Reply with the word yes."

// Preflight asks every endpoint of a configuration once whether it can be
// reached, takes the key and serves the model, so that a training run fails at
// its start and not at its first group. It lists the models; where that leaves a
// doubt, it asks for a completion of one token. It never retries; the time for
// one endpoint is timeout_s.
func Preflight(ctx context.Context, cfg Config) error {
	clients, err := newClients(cfg, nil)
	if err != nil {
		return err
	}
	for _, c := range clients {
		defer func() { _ = c.Close() }()
		check := &deadline{inner: preflight{c}, timeout: cfg.withDefaults().Timeout.Duration()}
		if _, err := check.Judge(ctx, Request{}); err != nil {
			return err
		}
	}
	return nil
}

// preflight is the check of one endpoint in the shape of a judge, for the sake
// of the deadline.
type preflight struct{ *client }

func (p preflight) Judge(ctx context.Context, _ Request) (Reply, error) {
	served, err := p.models(ctx)
	var e *Error
	switch {
	case err == nil && slices.Contains(served, p.model):
		return Reply{}, nil
	case errors.As(err, &e) && (e.StatusCode == 0 || e.StatusCode == http.StatusUnauthorized):
		return Reply{}, err
	}
	// Routers serve models they do not list, and some endpoints list none.
	_, err = p.client.Judge(ctx, Request{
		Messages: []prompt.Message{{Role: "user", Content: PreflightQuestion}}, MaxTokens: 1})
	if errors.Is(err, ErrModelNotFound) && len(served) > 0 {
		e := *asError(err)
		e.Err = fmt.Errorf("%w; it serves %s", e.Err, clip(strings.Join(served, ", ")))
		err = &e
	}
	if errors.Is(err, ErrEmpty) {
		err = nil // one token is seldom an answer
	}
	return Reply{}, err
}

// models lists the names of what the endpoint serves.
func (c *client) models(ctx context.Context) ([]string, error) {
	body, err := c.send(ctx, http.MethodGet, "models", nil, 0)
	if err != nil {
		return nil, err
	}
	var list openai.ModelsList
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, &Error{Failure: Failed, StatusCode: http.StatusOK, Err: fmt.Errorf("list of models: %w", err)}
	}
	names := make([]string, len(list.Models))
	for i, m := range list.Models {
		names[i] = m.ID
	}
	return names, nil
}
