// Package judge asks an LLM to judge. Judge is the one seam: the
// OpenAI-compatible client, the simulated judge and the fakes of the tests all
// satisfy it, and retry, limits, accounting and endpoint choice wrap it.
package judge

import (
	"context"

	"github.com/rankbuffer/rankbuffer/core/prompt"
)

// Request is one question to the judge, already rendered.
type Request struct {
	Kind     prompt.Kind      // names the call in the ledger: coarse, fine, ...
	Messages []prompt.Message // what is sent, in order
	Seed     *int64           // the request's seed field; nil sends none. Votes and repeats set it.

	// TopLogProbs asks for the log-probabilities of that many alternatives at
	// each answer token; 0 asks for none.
	TopLogProbs int
	// Temperature and MaxTokens override the configured ones when not nil / 0.
	Temperature *float64
	MaxTokens   int

	// Affinity is equal for requests that share a long prefix (one query), so
	// that a pool of endpoints sends them to the same prefix cache.
	Affinity uint64
	// Tally, if set, receives the account of every attempt made for this request.
	Tally *Tally

	// tried holds a bit for each endpoint of a pool that has failed this request,
	// so that a retry goes to another.
	tried uint64
}

// Usage counts tokens as the endpoint reports them.
type Usage struct {
	Prompt     int `json:"prompt"`
	Completion int `json:"completion"`
	Cached     int `json:"cached"` // the part of Prompt read from a prefix cache
}

// TokenProb is one generated token and its most likely alternatives.
type TokenProb struct {
	Token   string
	LogProb float64
	Top     []Alternative
}

// Alternative is one candidate for a token position.
type Alternative struct {
	Token   string
	LogProb float64
}

// Reply is what came back. Text is untrusted.
type Reply struct {
	Text         string
	FinishReason string // "stop", "length", ...
	Usage        Usage
	Tokens       []TokenProb // only when TopLogProbs was asked and the endpoint gives them
}

// Judge answers requests; implementations are safe for concurrent use.
type Judge interface {
	// Judge sends one request and waits for its reply. A failure is an *Error.
	Judge(ctx context.Context, req Request) (Reply, error)
	// Close releases connections; no call may be in flight.
	Close() error
}
