package engine

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/rank"
)

// completions is the queue of ended groups that Poll returns.
type completions struct {
	mu     sync.Mutex // guards items and notify
	items  []itemJSON
	notify func()
}

func (c *completions) setNotify(notify func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notify = notify
}

func (c *completions) push(item itemJSON) {
	c.mu.Lock()
	c.items = append(c.items, item)
	notify := c.notify
	wake := len(c.items) == 1 && notify != nil
	c.mu.Unlock()
	if wake {
		notify()
	}
}

func (c *completions) drain() []itemJSON {
	c.mu.Lock()
	defer c.mu.Unlock()
	items := c.items
	c.items = nil
	if items == nil {
		items = []itemJSON{}
	}
	return items
}

// Poll takes the completed groups: a JSON list of {"ticket", "result"} or
// {"ticket", "error": fault.JSON}. It never blocks.
func (e *Engine) Poll() []byte {
	data, err := json.Marshal(e.done.drain())
	if err != nil { // items hold encoded results and plain strings only
		panic(fmt.Sprintf("encode completions: %v", err))
	}
	return data
}

// itemJSON is one entry of what Poll returns.
type itemJSON struct {
	Ticket uint64          `json:"ticket"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *fault.JSON     `json:"error,omitempty"`
}

// itemOf encodes how a group ended.
func itemOf(ticket uint64, res rank.Result, err error) itemJSON {
	item := itemJSON{Ticket: ticket}
	if err == nil {
		item.Result, err = json.Marshal(res)
	}
	if err != nil {
		told := fault.From(err).JSON()
		item.Error = &told
	}
	return item
}
