package engine

import "fmt"

// queue makes the groups that change one query's buffer take effect in the order in
// which they came. Each group waits for the one before it.
type queue struct {
	tail     chan struct{} // closed when the newest group has taken effect; nil: nobody waits
	waiting  int           // groups in the queue, the one running included
	ordinal  int           // of the next training group
	validate int           // of the next validation group
}

// queueOf returns the query's queue. The caller holds e.mu.
func (e *Engine) queueOf(id string) *queue {
	q := e.queues[id]
	if q == nil {
		r, _ := e.store.Get(id)
		q = &queue{ordinal: r.Ordinal}
		e.queues[id] = q
	}
	return q
}

// groupID names a group: query_id/step/ordinal. Validation groups have ordinals of
// their own, so that a training run has the same ids with and without them.
func (q *queue) groupID(g groupJSON) (id string, ordinal int) {
	step := 0
	if g.Step != nil {
		step = *g.Step
	}
	if g.Validate {
		q.validate++
		return fmt.Sprintf("%s/%d/v%d", g.ID, step, q.validate-1), -1
	}
	q.ordinal++
	return fmt.Sprintf("%s/%d/%d", g.ID, step, q.ordinal-1), q.ordinal - 1
}

// enter puts a group at the end of the queue. The group waits until before is closed
// (nil: it need not wait), and leave closes after when the group has taken effect.
func (q *queue) enter() (before <-chan struct{}, after chan struct{}) {
	before, after = q.tail, make(chan struct{})
	q.tail = after
	q.waiting++
	return before, after
}

// leave is called when the group has taken effect.
func (q *queue) leave(after chan struct{}) {
	q.waiting--
	if q.tail == after {
		q.tail = nil
	}
	close(after)
}
