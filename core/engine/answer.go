package engine

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/rankbuffer/rankbuffer/core/checkpoint"
	"github.com/rankbuffer/rankbuffer/core/rank"
)

const maxLabel = 512 // bytes

// handed is what the responses of a group with a label were.
type handed struct {
	// mu is held while a response goes into the group: whoever finds the group
	// complete finds all digests.
	mu      sync.Mutex
	digests []string // in the order of the group; "" for one that did not come
}

// add hands a response to the group.
func (f *flight) add(index int, r rank.Response) error {
	if f.spec.Label == "" {
		return f.group.Add(index, r)
	}
	digest := checkpoint.Digest(r.Text)
	f.handed.mu.Lock()
	defer f.handed.mu.Unlock()
	if err := f.group.Add(index, r); err != nil {
		return err
	}
	f.handed.digests[index] = digest
	return nil
}

// answer is what the journal keeps of a group with a label that ended ok: the
// result as its caller will see it. Any other group changed nothing, and is
// judged again where its rewards are lost.
func (f *flight) answer(done *completed) *checkpoint.Answer {
	if f.spec.Label == "" || done.err != nil || done.result.GroupStatus != rank.OK {
		return nil
	}
	result, err := json.Marshal(done.result)
	if err != nil { // the caller is told
		return nil
	}
	f.handed.mu.Lock()
	defer f.handed.mu.Unlock()
	return &checkpoint.Answer{Label: f.spec.Label, Result: result, Responses: slices.Clone(f.handed.digests)}
}

// Answered is a group whose result was in a journal: its caller may not have it.
type Answered struct {
	Label     string          `json:"label"`
	QueryID   string          `json:"query_id"`
	Result    json.RawMessage `json:"result"`    // as Poll gives it
	Responses []string        `json:"responses"` // the Digest of each
}

// answeredOf appends the result that an entry holds, if any.
func answeredOf(all []Answered, e checkpoint.Entry) []Answered {
	if e.Answer == nil {
		return all
	}
	return append(all, Answered{
		Label: e.Answer.Label, QueryID: e.Record.Query.ID, Result: e.Answer.Result, Responses: e.Answer.Responses,
	})
}

// slack is how many answers more are held while they are read, so that dropping
// the older ones stays cheap.
const slack = 1024

// newest keeps the last ones, once there are more than the limit and its slack.
func newest(all []Answered, limit *int, slack int) []Answered {
	if limit == nil || len(all) <= *limit+slack {
		return all
	}
	return slices.Clone(all[len(all)-*limit:])
}
