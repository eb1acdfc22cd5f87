package judge

import (
	"fmt"

	"github.com/sashabaranov/go-openai"
	"golang.org/x/sync/semaphore"
)

// New builds the judge that a configuration describes, and its ledger. A request
// passes, from the outside in:
//
//	retry     makes further attempts where that can help
//	limit     lets max_concurrency attempts be in flight; no slot is held while waiting to retry
//	account   records every attempt, empty answers and panics included
//	deadline  gives each attempt timeout_s
//	pool      chooses the endpoint, by the request's affinity; a retry goes to another
//	client    one HTTP exchange
func New(cfg Config) (Judge, *Ledger, error) { return newStack(cfg, nil) }

// newStack builds the stack over a doer, or over a connection pool of its own.
func newStack(cfg Config, doer openai.HTTPDoer) (Judge, *Ledger, error) {
	clients, err := newClients(cfg, doer)
	if err != nil {
		return nil, nil, err
	}
	judges, names := make([]Judge, len(clients)), make([]string, len(clients))
	for i, c := range clients {
		judges[i], names[i] = c, c.url.String()
	}
	j, ledger := Wrap(newPool(judges, names), cfg)
	return j, ledger, nil
}

// Wrap puts the same wrappers, without pool and client, around any judge.
func Wrap(inner Judge, cfg Config) (Judge, *Ledger) {
	cfg = cfg.withDefaults()
	ledger := new(Ledger)
	inner = &deadline{inner: inner, timeout: cfg.Timeout.Duration()}
	inner = &account{inner: inner, ledger: ledger}
	inner = &limit{inner: inner, slots: semaphore.NewWeighted(int64(max(cfg.MaxConcurrency, 1)))}
	return &retry{inner: inner, ledger: ledger, max: *cfg.MaxRetries,
		base: cfg.Backoff.Duration(), most: cfg.MaxBackoff.Duration()}, ledger
}

// newClients makes one client for each endpoint.
func newClients(cfg Config, doer openai.HTTPDoer) ([]*client, error) {
	cfg = cfg.withDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Type != TypeOpenAI {
		return nil, fmt.Errorf("%w: judge.type: %q has no endpoint to connect to", ErrConfig, cfg.Type)
	}
	var closeIdle func()
	if doer == nil {
		own, err := newHTTPClient(cfg)
		if err != nil {
			return nil, err
		}
		doer, closeIdle = own, own.CloseIdleConnections
	}
	clients := make([]*client, len(cfg.BaseURLs))
	for i, base := range cfg.BaseURLs {
		c, err := newClient(cfg, base, doer, closeIdle)
		if err != nil {
			return nil, err
		}
		clients[i] = c
	}
	return clients, nil
}
