package rank

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/judge/verdict"
)

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
