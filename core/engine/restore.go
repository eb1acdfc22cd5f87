package engine

import (
	"fmt"
	"hash/crc32"
	"maps"
	"slices"

	"github.com/rankbuffer/rankbuffer/core/buffer"
	"github.com/rankbuffer/rankbuffer/core/checkpoint"
	"github.com/rankbuffer/rankbuffer/core/fault"
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

// Restore replaces every query's state by that of a checkpoint. It refuses files
// it cannot trust and does so while no group is in flight. On an error it changes
// nothing.
func (e *Engine) Restore(path string) error {
	_, err := e.restore(restoreJSON{Checkpoints: []string{path}})
	return err
}

// RestoreFrom replaces every query's state by that of checkpoints and of the
// journals that follow them. On an error it changes nothing.
func (e *Engine) RestoreFrom(sourcesJSON []byte) (Restored, error) {
	var from restoreJSON
	err := strict.Unmarshal("", sourcesJSON, &from)
	if err == nil {
		err = from.check()
	}
	if err != nil {
		return Restored{}, inDocument("sources", err)
	}
	return e.restore(from)
}

func (e *Engine) restore(from restoreJSON) (Restored, error) {
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
		if err := e.checkMethod(path, meta); err != nil {
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
		if err := e.checkMethod(path, meta); err != nil && !(torn && meta == checkpoint.Meta{}) {
			return nil, found, err
		}
	}
	found.Results = newest(found.Results, from.Results, 0)
	found.Queries = len(all)
	return slices.Collect(maps.Values(all)), found, nil
}

// checkMethod refuses what another method wrote.
func (e *Engine) checkMethod(path string, meta checkpoint.Meta) error {
	if own := e.method.Shared().Name; meta.Method != own {
		return fault.InFile(fault.CheckpointMethod, path, fmt.Errorf("was written by method %q, this scorer runs %q", meta.Method, own))
	}
	return nil
}

// replace makes these the records of the scorer.
func (e *Engine) replace(records []buffer.Record) error {
	e.journal.gate.Lock() // a journal goes on from the state that it began at
	defer e.journal.gate.Unlock()
	if e.journal.file != nil {
		return fault.New(fault.Busy, "", "the journal is open; end it before you restore")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.flights) > 0 {
		return fault.New(fault.Busy, "", "%d groups are in flight; restore when they have ended", len(e.flights))
	}
	e.store.Replace(records)
	clear(e.queues)
	clear(e.proposed)
	return nil
}
