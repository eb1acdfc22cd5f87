package engine

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/rankbuffer/rankbuffer/core/checkpoint"
	"github.com/rankbuffer/rankbuffer/core/rank"
)

// handed is what the responses of a group with a result key were.
type handed struct {
	// mu is held while a response goes into the group: whoever finds the group
	// complete finds all digests.
	mu      sync.Mutex
	digests []string // in the order of the group; "" for one that did not come
}

// add hands a response to the group.
func (f *flight) add(index int, r rank.Response) error {
	if f.spec.ResultKey == "" {
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

// keyedResult is what the journal keeps of a group with a result key that ended
// ok: the result as its caller will see it. Any other group changed nothing, and
// is judged again if its rewards are lost.
func (f *flight) keyedResult(done *completed) *checkpoint.KeyedResult {
	if f.spec.ResultKey == "" || done.err != nil || done.result.GroupStatus != rank.OK {
		return nil
	}
	result, err := json.Marshal(done.result)
	if err != nil { // the caller gets this error too
		return nil
	}
	f.handed.mu.Lock()
	defer f.handed.mu.Unlock()
	return &checkpoint.KeyedResult{Key: f.spec.ResultKey, Result: result, Responses: slices.Clone(f.handed.digests)}
}

// KeyedResult is a result that was in a journal: its caller may not have it.
type KeyedResult struct {
	QueryID string `json:"query_id"`
	checkpoint.KeyedResult
}

// slack is how many results more are held while they are read, so that dropping
// the older ones stays cheap.
const slack = 1024

// newest keeps the last ones, once there are more than the limit and its slack.
func newest(all []KeyedResult, limit *int, slack int) []KeyedResult {
	if limit == nil || len(all) <= *limit+slack {
		return all
	}
	return slices.Clone(all[len(all)-*limit:])
}
