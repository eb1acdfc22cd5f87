package judge

import (
	"sync"

	"github.com/rankbuffer/rankbuffer/core/prompt"
)

// Counts is what became of the attempts of one kind of call. An attempt is one
// request sent to an endpoint; each ends in exactly one of three ways, so
// Tried = Succeeded + Retried + Failed once nothing is in flight.
type Counts struct {
	Tried     int   `json:"tried"`
	Succeeded int   `json:"succeeded"` // gave an answer that could be used
	Retried   int   `json:"retried"`   // gave none, or one that could not be used, and was tried again
	Failed    int   `json:"failed"`    // the same, and the request was given up
	Tokens    Usage `json:"tokens"`
}

func (c *Counts) add(o Counts) {
	c.Tried += o.Tried
	c.Succeeded += o.Succeeded
	c.Retried += o.Retried
	c.Failed += o.Failed
	c.Tokens = c.Tokens.plus(o.Tokens)
}

func (u Usage) plus(o Usage) Usage {
	return Usage{Prompt: u.Prompt + o.Prompt, Completion: u.Completion + o.Completion, Cached: u.Cached + o.Cached}
}

// outcome is how an attempt ended.
type outcome int

const (
	succeeded outcome = iota
	retried
	failed
)

func (c *Counts) of(o outcome) *int {
	switch o {
	case succeeded:
		return &c.Succeeded
	case retried:
		return &c.Retried
	default:
		return &c.Failed
	}
}

// counter counts attempts by kind. The zero value is ready.
type counter struct {
	mu   sync.Mutex // protects what kinds holds
	kind map[prompt.Kind]*Counts
}

// attempt records one attempt as it ended.
func (c *counter) attempt(kind prompt.Kind, end outcome, usage Usage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kind == nil {
		c.kind = make(map[prompt.Kind]*Counts)
	}
	n := c.kind[kind]
	if n == nil {
		n = new(Counts)
		c.kind[kind] = n
	}
	n.Tried++
	*n.of(end)++
	n.Tokens = n.Tokens.plus(usage)
}

// revise moves one attempt to another outcome: what came back was of no use
// after all, or what had failed is tried again. Without such an attempt it does
// nothing.
func (c *counter) revise(kind prompt.Kind, from, to outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.kind[kind]
	if n == nil || *n.of(from) == 0 {
		return
	}
	*n.of(from)--
	*n.of(to)++
}

func (c *counter) snapshot() map[prompt.Kind]Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make(map[prompt.Kind]Counts, len(c.kind))
	for kind, n := range c.kind {
		out[kind] = *n
	}
	return out
}

func (c *counter) total() Counts {
	var sum Counts
	for _, n := range c.snapshot() {
		sum.add(n)
	}
	return sum
}
