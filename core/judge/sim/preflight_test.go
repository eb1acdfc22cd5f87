package sim

import (
	"context"
	"errors"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/openai"
	"github.com/rankbuffer/rankbuffer/core/judge/options"
)

// A client that checks its endpoint before a run must get through whatever model
// it names, though a request about unknown texts must not.
func TestPreflightPassesForAnyModel(t *testing.T) {
	server, _ := start(t, newSim(t, Config{Qualities: map[string]float64{"text": 1}}))
	for _, model := range []string{ModelName, "any other"} {
		cfg := options.Judge{BaseURLs: []string{server.URL()}, Model: model}
		if err := openai.Preflight(context.Background(), cfg); err != nil {
			t.Errorf("model %q: %v", model, err)
		}
	}
	cfg := options.Judge{BaseURLs: []string{server.URL() + "/elsewhere"}, Model: "any other"}
	var failure *judge.Error
	if err := openai.Preflight(context.Background(), cfg); !errors.As(err, &failure) {
		t.Errorf("wrong path: got %v, want an error of the judge", err)
	}
}
