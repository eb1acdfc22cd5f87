package judge

import "github.com/rankbuffer/rankbuffer/core/prompt"

// Tally is the account of one group's calls. The zero value is ready; a nil
// Tally records nothing. It is safe for concurrent use.
type Tally struct{ counter counter }

// Attempt records one attempt sent to an endpoint and how it ended. The stack
// built by New or Wrap calls it; other judges may.
func (t *Tally) Attempt(kind prompt.Kind, usage Usage, err error) {
	if t == nil {
		return
	}
	end := succeeded
	if err != nil {
		end = failed
	}
	t.counter.attempt(kind, end, usage)
}

func (t *Tally) revise(kind prompt.Kind, from, to outcome) {
	if t != nil {
		t.counter.revise(kind, from, to)
	}
}

// Calls counts the attempts sent, by kind, those that failed included.
func (t *Tally) Calls() map[string]int {
	out := make(map[string]int)
	for kind, n := range t.Counts() {
		out[string(kind)] = n.Tried
	}
	return out
}

// Counts gives the whole account by kind.
func (t *Tally) Counts() map[prompt.Kind]Counts {
	if t == nil {
		return map[prompt.Kind]Counts{}
	}
	return t.counter.snapshot()
}

// Usage is the tokens of all attempts.
func (t *Tally) Usage() Usage { return t.total().Tokens }

// Retried counts the attempts that were tried again.
func (t *Tally) Retried() int { return t.total().Retried }

// Failed counts the attempts after which the request was given up.
func (t *Tally) Failed() int { return t.total().Failed }

func (t *Tally) total() Counts {
	if t == nil {
		return Counts{}
	}
	return t.counter.total()
}
