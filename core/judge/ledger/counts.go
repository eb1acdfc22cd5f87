package ledger

// Usage counts tokens as the endpoint reports them.
type Usage struct {
	Prompt     int `json:"prompt"`
	Completion int `json:"completion"`
	Cached     int `json:"cached"` // the part of Prompt read from a prefix cache
}

func (u Usage) plus(o Usage) Usage {
	return Usage{Prompt: u.Prompt + o.Prompt, Completion: u.Completion + o.Completion, Cached: u.Cached + o.Cached}
}

// Outcome is how an attempt ended.
type Outcome int

// The outcomes of an attempt.
const (
	Succeeded Outcome = iota // gave an answer that could be used
	Retried                  // gave none, or one that could not be used, and was tried again
	Failed                   // the same, and the call was given up
)

// Counts says how the attempts of one kind of call ended. Each ends in exactly
// one way, so Tried = Succeeded + Retried + Failed.
type Counts struct {
	Tried     int   `json:"tried"`
	Succeeded int   `json:"succeeded"`
	Retried   int   `json:"retried"`
	Failed    int   `json:"failed"`
	Tokens    Usage `json:"tokens"`
}

func (c *Counts) add(o Counts) {
	c.Tried += o.Tried
	c.Succeeded += o.Succeeded
	c.Retried += o.Retried
	c.Failed += o.Failed
	c.Tokens = c.Tokens.plus(o.Tokens)
}

// counted is one attempt as Counts.
func (a Attempt) counted(end Outcome) Counts {
	c := Counts{Tried: 1, Tokens: a.Usage}
	switch end {
	case Succeeded:
		c.Succeeded = 1
	case Retried:
		c.Retried = 1
	default:
		c.Failed = 1
	}
	return c
}
