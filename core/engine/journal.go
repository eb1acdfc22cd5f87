package engine

import (
	"errors"
	"sync"

	"github.com/rankbuffer/rankbuffer/core/buffer"
	"github.com/rankbuffer/rankbuffer/core/checkpoint"
)

// journal is where commits are written down, if anywhere.
type journal struct {
	// gate is held for reading from a commit until it is written down, and for
	// writing while the file is switched: a snapshot and the journal that goes on
	// from it then miss nothing and hold nothing twice.
	gate sync.RWMutex
	file *checkpoint.Journal // guarded by gate; nil: commits are not written down
}

// enter begins a commit; leave writes it down, unless e is nil. What cannot be
// written is counted (see JournalStats) and never fails a group: the next
// snapshot holds it.
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

// Journal sends every later commit to a new file at path; "" ends it. With a
// snapshot path it also saves the state from which that journal goes on.
// On an error the journal stays what it was; a snapshot that fails after the
// switch is reported, and everything is in the two journals then.
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
