package rank

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/verdict"
	"github.com/rankbuffer/rankbuffer/core/prompt"
)

// The number of alternatives asked for at each answer token. OpenAI and vLLM
// allow 20 at most; after written reasoning, where every token carries them,
// fewer keep the answer small, and both labels are among the likeliest anyway.
const (
	alternatives         = 20
	alternativesReasoned = 5
)

// askProbability asks a question whose answer is read from token
// log-probabilities.
func askProbability(ctx context.Context, g *Group, kind prompt.Kind, v prompt.Vars,
	shape func(*judge.Request), parse func(judge.Reply) (float64, error)) (p float64, err error) {
	err = g.asker.env.LogProbs.guard(ctx, func() error {
		p, err = ask(ctx, g, kind, v, func(r *judge.Request) {
			if r.TopLogProbs = alternatives; kind == prompt.Reasoned {
				r.TopLogProbs = alternativesReasoned
			}
			if shape != nil {
				shape(r)
			}
		}, parse)
		return err
	})
	return p, err
}

// LogProbs finds out, once for a judge, whether its endpoint gives token
// log-probabilities: the first call that needs them goes alone, and if it comes
// back without any, every other is refused unsent. Share one per judge.
type LogProbs struct {
	turn  chan struct{} // held by the call that finds out
	state atomic.Int32  // unknown, given or missing
}

const (
	unknown int32 = iota
	given
	missing
)

// NewLogProbs returns one that knows nothing yet.
func NewLogProbs() *LogProbs { return &LogProbs{turn: make(chan struct{}, 1)} }

// guard runs a call that needs log-probabilities. A nil LogProbs lets all pass.
// If the first call fails of anything else, the next ones are not held up any
// more, and an answer without log-probabilities is then that answer's failure
// alone.
func (l *LogProbs) guard(ctx context.Context, call func() error) error {
	if l == nil || l.state.Load() == given {
		return call()
	}
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if state := l.state.Load(); state != unknown {
		<-l.turn
		if state == missing {
			return verdict.NoLogProbs()
		}
		return call()
	}
	found := given
	defer func() { // also if the call panics
		l.state.Store(found)
		<-l.turn
	}()
	err := call()
	switch {
	case errors.Is(err, fault.JudgeNoLogProbs):
		found = missing
	case ctx.Err() != nil:
		found = unknown
	}
	return err
}
