package engine

import (
	"errors"
	"sync"

	"github.com/rankbuffer/rankbuffer/core/buffer"
	"github.com/rankbuffer/rankbuffer/core/checkpoint"
)

// journal is the open journal of the scorer, if there is one.
type journal struct {
	// gate is read-locked from a commit until the commit is in the file, and locked
	// while the file is switched. So a snapshot and the journal that follows it miss
	// no commit and hold none twice.
	gate sync.RWMutex
	file *checkpoint.Journal // guarded by gate; nil: commits are not written down
}

// enter begins a commit; leave appends it to the file, unless e is nil. A commit
// that cannot be written is counted (see JournalStats) and makes no group fail: the
// next snapshot holds it.
func (j *journal) enter() { j.gate.RLock() }

func (j *journal) leave(e *checkpoint.Entry) {
	if e != nil && j.file != nil {
		_ = j.file.Append(*e)
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

// Journal writes every later commit to a new file at path; "" ends the journal. With
// a snapshot path it also saves the state at the start of that journal. If it fails,
// the old journal stays open. If only the snapshot fails, the new journal is open, and
// the two journals together hold every commit.
func (e *Engine) Journal(path, snapshot string) error {
	e.snapshots.Lock()
	defer e.snapshots.Unlock()
	if e.isClosed() {
		return errClosed
	}
	meta := checkpoint.Meta{Method: e.method.Shared().Name}
	var next *checkpoint.Journal
	if path != "" {
		var err error
		if next, err = checkpoint.CreateJournal(path, meta); err != nil {
			return err
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
	return err
}

// switchJournal puts next in place of the open journal and takes the records at
// that moment.
func (e *Engine) switchJournal(next *checkpoint.Journal) (old *checkpoint.Journal, records []buffer.Record, err error) {
	e.journal.gate.Lock()
	defer e.journal.gate.Unlock()
	if e.isClosed() { // Close has ended the journal, or is about to
		return nil, nil, errClosed
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
