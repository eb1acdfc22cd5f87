package sim

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/prompt"
)

// Sim is the simulated judge. It is safe for concurrent use.
type Sim struct {
	config Config
	knows  knowledge
	draws  source

	mu   sync.Mutex
	seen map[digest]int // guarded by mu: how often each request was seen; counted only if attempts can differ
}

var _ judge.Judge = (*Sim)(nil)

// New makes a judge. An error names the field.
func New(c Config) (*Sim, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	return &Sim{config: c, knows: know(c), draws: source{c.Seed}, seen: map[digest]int{}}, nil
}

// Close does nothing: the judge holds no resources.
func (s *Sim) Close() error { return nil }

// Judge answers a request by its messages and seed alone: its kind is read from
// the messages, temperature and token limit are ignored. Every error is a
// *judge.Error: messages that are no rendered request and texts of unknown
// quality are final (400), a simulated failure may be retried (500).
func (s *Sim) Judge(ctx context.Context, req judge.Request) (judge.Reply, error) {
	q, err := s.understand(req.Messages, req.Seed)
	if err != nil {
		return judge.Reply{}, refused(err)
	}
	if err := s.wait(ctx); err != nil {
		return judge.Reply{}, judge.Waiting(ctx, "the simulated judge")
	}
	said := s.answer(q)
	switch attempt := s.attempt(q); {
	case s.config.FailureRate > 0 && s.draws.uniform("failure", attempt) < s.config.FailureRate:
		return judge.Reply{}, simulatedFailure()
	case s.config.MalformedRate > 0 && s.draws.uniform("malformed", attempt) < s.config.MalformedRate:
		said = malformed(q.doc, said, s.draws.bits("garbage", attempt))
	}
	return judge.Reply{
		Text:         said.text(),
		FinishReason: "stop",
		Usage:        judge.Usage{Prompt: tokens(contentBytes(req.Messages)), Completion: tokens(len(said.text()))},
		Tokens:       said.tokens(req.TopLogProbs),
	}, nil
}

func refused(err error) *judge.Error {
	e := judge.Fail(fault.JudgeRejected, "judge.qualities", "the simulated judge cannot answer: %w", err)
	e.StatusCode = http.StatusBadRequest
	return e
}

func simulatedFailure() *judge.Error {
	e := judge.Fail(fault.JudgeServerError, "judge.failure_rate", "this is a simulated failure, as this option asks for").Retry()
	e.StatusCode = http.StatusInternalServerError
	return e
}

// wait takes the configured time, or less if ctx ends.
func (s *Sim) wait(ctx context.Context) error {
	if err := ctx.Err(); err != nil || s.config.LatencyMS == 0 {
		return err
	}
	timer := time.NewTimer(time.Duration(s.config.LatencyMS * float64(time.Millisecond)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// attempt names this attempt at a request: the request and how often it was
// seen. A corrective re-ask is another attempt at the same request.
func (s *Sim) attempt(q question) digest {
	if s.config.FailureRate == 0 && s.config.MalformedRate == 0 {
		return digest{}
	}
	fields := []string{string(q.doc.Kind), q.doc.Query.Text, string(q.call[:])}
	for _, m := range q.doc.Query.Messages {
		fields = append(fields, m.Role, m.Content)
	}
	for _, text := range append(q.doc.Lookahead, q.doc.Ranked...) {
		fields = append(fields, text.Body)
	}
	request := digestOf(fields...)
	s.mu.Lock()
	s.seen[request]++
	n := s.seen[request]
	s.mu.Unlock()
	return digestOf(string(request[:]), strconv.Itoa(n))
}

// tokens is the stated approximation of a token count: four bytes a token,
// rounded up.
func tokens(bytes int) int { return (bytes + 3) / 4 }

func contentBytes(messages []prompt.Message) int {
	n := 0
	for _, m := range messages {
		n += len(m.Content)
	}
	return n
}
