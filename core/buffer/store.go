package buffer

import (
	"cmp"
	"slices"
	"sync"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/query"
)

// Store holds the records of all queries. The zero value is empty and ready;
// all methods are safe for concurrent use. What goes in and comes out is shared
// and must not be modified.
type Store struct {
	mu      sync.RWMutex // protects records
	records map[string]Record
}

// Create makes a query known. A new query is validated, and start gives its
// first buffer: nil, or a nil start, leaves it to be bootstrapped. A known
// query with the same content is left as it is and start is not called; a field
// that q leaves out is no other content.
//
// Errors: fault.QueryConflict naming the field, those of Query.Validate, or
// start's own; the store is then unchanged. start runs under the store's lock, so it must not
// call the store.
func (s *Store) Create(q query.Query, start func() (*Buffer, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.records[q.ID]; ok {
		return known.Query.CheckSame(q)
	}
	if err := q.Validate(); err != nil {
		return err
	}
	r := Record{Query: q}
	if start != nil {
		b, err := start()
		if err != nil {
			return err
		}
		r.Buffer = b
	}
	if s.records == nil {
		s.records = make(map[string]Record)
	}
	s.records[q.ID] = r
	return nil
}

// Get returns the record of a query, and whether it is known.
func (s *Store) Get(id string) (Record, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	r, ok := s.records[id]
	return r, ok
}

// Commit puts next in place of base, sets the number of completed groups and
// remembers the group's idempotency key; "" is none. A nil next keeps base and
// sets the number alone. Errors: fault.UnknownQuery; fault.StaleUpdate when the
// query's buffer is no longer base (the same pointer, nil for a buffer that has
// not started); the store is then unchanged.
func (s *Store) Commit(id string, base, next *Buffer, ordinal int, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.records[id]
	if !ok {
		return fault.New(fault.UnknownQuery, "", "query_id %q is not known", id)
	}
	if r.Buffer != base {
		return fault.New(fault.StaleUpdate, "", "the buffer of query %q has changed since this group was ranked", id)
	}
	if next != nil {
		r.Buffer = next
		if key != "" {
			r.IdempotencyKeys = r.withKey(key)
		}
	}
	r.Ordinal = ordinal
	s.records[id] = r
	return nil
}

// All returns every record, sorted by query id: one consistent point between
// commits.
func (s *Store) All() []Record {
	s.mu.RLock()
	all := make([]Record, 0, len(s.records))
	for _, r := range s.records {
		all = append(all, r)
	}
	s.mu.RUnlock()
	slices.SortFunc(all, func(a, b Record) int { return cmp.Compare(a.Query.ID, b.Query.ID) })
	return all
}

// Replace drops everything and keeps these records instead. Of two with the
// same query id the later one stays.
func (s *Store) Replace(records []Record) {
	fresh := make(map[string]Record, len(records))
	for _, r := range records {
		fresh[r.Query.ID] = r
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records = fresh
}

// Len returns the number of queries known.
func (s *Store) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.records)
}
