// Package judge asks an LLM to judge. Judge is the one seam: the
// OpenAI-compatible client (openai), the simulated judge (sim) and the fakes of
// the tests (judgetest) all satisfy it, and retry, limits, accounting and
// endpoint choice (stack) wrap it. Ask adds the corrective re-ask.
package judge

import (
	"context"

	"github.com/rankbuffer/rankbuffer/core/judge/ledger"
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
	// Ledger, if set, is a further account (the group's) in which every attempt
	// made for this request is booked.
	Ledger *ledger.Ledger
}

// Usage counts tokens as the endpoint reports them.
type Usage = ledger.Usage

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

// PreflightQuestion is what the start check asks an endpoint whose list of models
// leaves a doubt.
const PreflightQuestion = "Reply with the word yes."

// Judge answers requests; implementations are safe for concurrent use.
type Judge interface {
	// Judge sends one request and waits for its reply. A failure is an *Error.
	Judge(ctx context.Context, req Request) (Reply, error)
	// Close releases connections; no call may be in flight.
	Close() error
}
