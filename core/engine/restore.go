package engine

import (
	"cmp"
	"hash/crc32"
	"slices"

	"github.com/rankbuffer/rankbuffer/core/buffer"
	"github.com/rankbuffer/rankbuffer/core/checkpoint"
	"github.com/rankbuffer/rankbuffer/core/strict"
)

// restoreJSON says what RestoreFrom reads.
type restoreJSON struct {
	Checkpoints []string   `json:"checkpoints"`
	Journals    []string   `json:"journals"` // oldest first
	Until       *untilJSON `json:"until"`
	Shard       *shardJSON `json:"shard"`
	Results     *int       `json:"results"` // how many of the newest are returned; nil: all
}

// untilJSON says which entries of the journals are kept. {"step": n} keeps those
// with step <= n, and those without a step whose AfterCheckpoint is < n.
// {"after_checkpoint": n} keeps those whose AfterCheckpoint is < n.
type untilJSON struct {
	Step            *int `json:"step"`
	AfterCheckpoint *int `json:"after_checkpoint"`
}

func (u *untilJSON) keeps(e checkpoint.Entry) bool {
	switch {
	case u == nil:
		return true
	case u.AfterCheckpoint != nil:
		return e.AfterCheckpoint < *u.AfterCheckpoint
	case e.Step != nil:
		return *e.Step <= *u.Step
	}
	return e.AfterCheckpoint < *u.Step
}

// shardJSON keeps the queries that one of several scorers holds.
type shardJSON struct {
	Index int `json:"index"`
	Count int `json:"count"`
}

func (s *shardJSON) holds(id string) bool {
	return s == nil || int(crc32.ChecksumIEEE([]byte(id))%uint32(s.Count)) == s.Index
}

func (r restoreJSON) check() error {
	if u := r.Until; u != nil && (u.Step == nil) == (u.AfterCheckpoint == nil) {
		return invalid("until", "needs either step or after_checkpoint")
	}
	if s := r.Shard; s != nil && (s.Count < 1 || s.Index < 0 || s.Index >= s.Count) {
		return invalid("shard", "index %d of count %d", s.Index, s.Count)
	}
	if r.Results != nil && *r.Results < 0 {
		return invalid("results", "need at least 0, got %d", *r.Results)
	}
	return nil
}

// Restored says what RestoreFrom found.
type Restored struct {
	Queries int  `json:"queries"`
	Entries int  `json:"entries"` // of the journals, that were applied
	Skipped int  `json:"skipped"` // beyond until, or of another shard
	Torn    bool `json:"torn"`    // a journal ended within an entry

	// The newest checkpoint that a group of the applied entries began after.
	AfterCheckpoint int `json:"after_checkpoint"`

	Results []KeyedResult `json:"results"` // of the entries that were applied, the newest last
}

// RestoreFrom replaces every query's state by that of checkpoints and of the
// journals that go on from them. Like Restore it changes nothing on an error.
func (e *Engine) RestoreFrom(sourcesJSON []byte) (Restored, error) {
	var from restoreJSON
	err := strict.Unmarshal("", sourcesJSON, &from)
	if err == nil {
		err = from.check()
	}
	if err != nil {
		return Restored{}, inDocument("sources", err)
	}
	e.snapshots.Lock()
	defer e.snapshots.Unlock()
	if e.isClosed() {
		return Restored{}, errClosed
	}
	records, found, err := e.gather(from)
	if err != nil {
		return Restored{}, err
	}
	return found, e.replace(records)
}

// gather reads all sources into one record a query.
func (e *Engine) gather(from restoreJSON) ([]buffer.Record, Restored, error) {
	found := Restored{Results: []KeyedResult{}}
	all := map[string]buffer.Record{}
	for _, path := range from.Checkpoints {
		meta, records, err := checkpoint.Read(path)
		if err != nil {
			return nil, found, err
		}
		if err := e.own(path, meta); err != nil {
			return nil, found, err
		}
		for _, r := range records {
			if from.Shard.holds(r.Query.ID) {
				all[r.Query.ID] = r
			}
		}
	}
	for _, path := range from.Journals {
		meta, torn, err := checkpoint.ReadJournal(path, func(c checkpoint.Entry) error {
			if !from.Until.keeps(c) || !from.Shard.holds(c.Record.Query.ID) {
				found.Skipped++
				return nil
			}
			all[c.Record.Query.ID] = c.Record
			found.Entries++
			found.AfterCheckpoint = max(found.AfterCheckpoint, c.AfterCheckpoint)
			if c.Result != nil {
				all := append(found.Results, KeyedResult{QueryID: c.Record.Query.ID, KeyedResult: *c.Result})
				found.Results = newest(all, from.Results, slack)
			}
			return nil
		})
		if err != nil {
			return nil, found, err
		}
		found.Torn = found.Torn || torn
		if err := e.own(path, meta); err != nil && !(torn && meta == checkpoint.Meta{}) {
			return nil, found, err
		}
	}
	found.Results = newest(found.Results, from.Results, 0)
	records := make([]buffer.Record, 0, len(all))
	for _, r := range all {
		records = append(records, r)
	}
	slices.SortFunc(records, func(a, b buffer.Record) int { return cmp.Compare(a.Query.ID, b.Query.ID) })
	found.Queries = len(records)
	return records, found, nil
}
