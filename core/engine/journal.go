package engine

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"sync"

	"github.com/rankbuffer/rankbuffer/core/buffer"
	"github.com/rankbuffer/rankbuffer/core/checkpoint"
	"github.com/rankbuffer/rankbuffer/core/strict"
)

// journal is where commits are written down, if anywhere.
type journal struct {
	// gate is held for reading from a commit until it is written down, and for
	// writing while the file is switched: a snapshot and the journal that goes on
	// from it then miss nothing and hold nothing twice.
	gate sync.RWMutex
	file *checkpoint.Journal // guarded by gate; nil: commits are not written down
}

// entry is a commit that is to be written down.
type entry struct {
	done   bool
	record buffer.Record
	step   *int
	mark   int
	tag    string
	answer *checkpoint.Answer // nil: none
}

// enter begins a commit, leave writes it down. What cannot be written is counted
// (see JournalStats) and never fails a group: the next snapshot holds it.
func (j *journal) enter() { j.gate.RLock() }

func (j *journal) leave(e entry) {
	if e.done && j.file != nil {
		_ = j.file.Append(checkpoint.Entry{Step: e.step, Mark: e.mark, Tag: e.tag, Record: e.record, Answer: e.answer})
	}
	j.gate.RUnlock()
}

func (j *journal) stats() *checkpoint.JournalStats {
	j.gate.RLock()
	defer j.gate.RUnlock()
	if j.file == nil {
		return nil
	}
	s := j.file.Stats()
	return &s
}

func (j *journal) close() error {
	j.gate.Lock()
	defer j.gate.Unlock()
	if j.file == nil {
		return nil
	}
	err := j.file.Close()
	j.file = nil
	return err
}

// Journal sends every later commit to a new file at path; "" ends it. With a
// snapshot path it also saves the state from which that journal goes on.
// On an error the journal stays what it was; a snapshot that fails after the
// switch is reported, and everything is in the two journals then.
func (e *Engine) Journal(path, snapshot string) error {
	e.snapshots.Lock()
	defer e.snapshots.Unlock()
	if e.isClosed() {
		return ErrClosed
	}
	meta := checkpoint.Meta{Method: e.method.Shared().Name}
	var next *checkpoint.Journal
	if path != "" {
		var err error
		if next, err = checkpoint.CreateJournal(path, meta); err != nil {
			return fmt.Errorf("engine: journal: %w", fileError(err))
		}
	}
	old, records, err := e.switchJournal(next)
	if err != nil {
		return errors.Join(err, closeJournal(next))
	}
	err = closeJournal(old)
	if snapshot != "" {
		err = errors.Join(err, checkpoint.Write(snapshot, meta, records))
	}
	if err != nil {
		return fmt.Errorf("engine: journal: %w", fileError(err))
	}
	return nil
}

// switchJournal puts next in place of the open journal and takes the records at
// that moment.
func (e *Engine) switchJournal(next *checkpoint.Journal) (old *checkpoint.Journal, records []buffer.Record, err error) {
	e.journal.gate.Lock()
	defer e.journal.gate.Unlock()
	if e.isClosed() { // Close has ended the journal, or is about to
		return nil, nil, ErrClosed
	}
	old = e.journal.file
	e.journal.file = next
	return old, e.store.All(), nil
}

func closeJournal(j *checkpoint.Journal) error {
	if j == nil {
		return nil
	}
	return j.Close()
}

// restoreJSON says what RestoreFrom reads.
type restoreJSON struct {
	Checkpoints []string   `json:"checkpoints"`
	Journals    []string   `json:"journals"` // oldest first
	Until       *untilJSON `json:"until"`
	Shard       *shardJSON `json:"shard"`
}

// untilJSON keeps the entries of steps up to Step, those without a step by their
// mark; or all by their mark alone, which must be below Mark.
type untilJSON struct {
	Step *int `json:"step"`
	Mark *int `json:"mark"`
}

func (u *untilJSON) keeps(e checkpoint.Entry) bool {
	switch {
	case u == nil:
		return true
	case u.Mark != nil:
		return e.Mark < *u.Mark
	case e.Step != nil:
		return *e.Step <= *u.Step
	}
	return e.Mark < *u.Step
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
	if u := r.Until; u != nil && (u.Step == nil) == (u.Mark == nil) {
		return fmt.Errorf("restore: until: must hold either step or mark")
	}
	if s := r.Shard; s != nil && (s.Count < 1 || s.Index < 0 || s.Index >= s.Count) {
		return fmt.Errorf("restore: shard: index %d of count %d", s.Index, s.Count)
	}
	return nil
}

// Restored says what RestoreFrom found.
type Restored struct {
	Queries int  `json:"queries"`
	Entries int  `json:"entries"` // of the journals, that were applied
	Skipped int  `json:"skipped"` // beyond until, or of another shard
	Torn    bool `json:"torn"`    // a journal ended within an entry

	Answered []Answered `json:"answered"` // by the entries that were applied, in their order
}

// RestoreFrom replaces every query's state by that of checkpoints and of the
// journals that go on from them. Like Restore it changes nothing on an error.
func (e *Engine) RestoreFrom(sourcesJSON []byte) (Restored, error) {
	var from restoreJSON
	err := strict.Unmarshal("restore", sourcesJSON, &from)
	if err == nil {
		err = from.check()
	}
	if err != nil {
		return Restored{}, fmt.Errorf("engine: %w: %w", ErrInvalid, err)
	}
	e.snapshots.Lock()
	defer e.snapshots.Unlock()
	if e.isClosed() {
		return Restored{}, ErrClosed
	}
	records, found, err := e.gather(from)
	if err != nil {
		return Restored{}, fmt.Errorf("engine: restore: %w", err)
	}
	return found, e.replace(records)
}

// gather reads all sources into one record a query.
func (e *Engine) gather(from restoreJSON) ([]buffer.Record, Restored, error) {
	found := Restored{Answered: []Answered{}}
	all := map[string]buffer.Record{}
	for _, path := range from.Checkpoints {
		meta, records, err := checkpoint.Read(path)
		if err != nil {
			return nil, found, fileError(err)
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
			found.Answered = answeredOf(found.Answered, c)
			return nil
		})
		if err != nil {
			return nil, found, fileError(err)
		}
		found.Torn = found.Torn || torn
		if err := e.own(path, meta); err != nil && !(torn && meta == checkpoint.Meta{}) {
			return nil, found, err
		}
	}
	records := make([]buffer.Record, 0, len(all))
	for _, r := range all {
		records = append(records, r)
	}
	slices.SortFunc(records, func(a, b buffer.Record) int { return cmp.Compare(a.Query.ID, b.Query.ID) })
	found.Queries = len(records)
	return records, found, nil
}
