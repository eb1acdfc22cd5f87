package engine

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/rankbuffer/rankbuffer/core/checkpoint"
	"github.com/rankbuffer/rankbuffer/core/judge/ledger"
	"github.com/rankbuffer/rankbuffer/core/judge/options"
	"github.com/rankbuffer/rankbuffer/core/rank"
)

// keptSteps bounds the per-step figures to the newest steps.
const keptSteps = 1024

// stats counts how groups ended.
type stats struct {
	groups map[rank.Status]int
	steps  map[int]*stepStats
}

type stepStats struct {
	Groups     int     `json:"groups"`
	ZeroSpread float64 `json:"zero_spread_share"` // share of groups whose rewards are all equal
	zero       int
}

func newStats() stats {
	return stats{groups: map[rank.Status]int{}, steps: map[int]*stepStats{}}
}

func (s *stats) add(f *flight, done completed) {
	if done.err != nil {
		s.groups[rank.GroupFailed]++
		return
	}
	s.groups[done.result.GroupStatus]++
	if f.spec.Validate || len(done.result.Rewards) < 2 {
		return // nothing that could spread
	}
	step := s.steps[done.result.Step]
	if step == nil {
		step = new(stepStats)
		s.steps[done.result.Step] = step
		s.trim()
	}
	step.Groups++
	if done.result.RewardStd == 0 {
		step.zero++
	}
	step.ZeroSpread = float64(step.zero) / float64(step.Groups)
}

func (s *stats) trim() {
	if len(s.steps) <= keptSteps {
		return
	}
	oldest := -1
	for step := range s.steps {
		if oldest < 0 || step < oldest {
			oldest = step
		}
	}
	delete(s.steps, oldest)
}

// statsJSON is the cost ledger.
type statsJSON struct {
	Method   string              `json:"method"`
	Queries  int                 `json:"queries"`
	InFlight int                 `json:"in_flight"`
	Groups   map[rank.Status]int `json:"groups"` // by group status
	Judge    ledger.Report       `json:"judge"`  // by kind of call
	Steps    []stepJSON          `json:"steps"`  // ascending, the newest 1024

	Warnings []string `json:"warnings,omitempty"` // of options that are likely a mistake with this judge

	Journal *checkpoint.JournalStats `json:"journal,omitempty"` // of the file being written now
}

type stepJSON struct {
	Step int `json:"step"`
	stepStats
}

// Stats returns the cost ledger as JSON.
func (e *Engine) Stats() []byte {
	e.mu.Lock()
	out := statsJSON{
		Method: e.method.Shared().Name, Queries: e.store.Len(), InFlight: len(e.flights),
		Groups: map[rank.Status]int{}, Steps: []stepJSON{},
	}
	for status, n := range e.stats.groups {
		out.Groups[status] = n
	}
	for step, s := range e.stats.steps {
		out.Steps = append(out.Steps, stepJSON{Step: step, stepStats: *s})
	}
	e.mu.Unlock()
	slices.SortFunc(out.Steps, func(a, b stepJSON) int { return a.Step - b.Step })
	out.Warnings = e.warnings()
	out.Journal = e.journal.stats()
	out.Judge = e.judge.ledger.Report()
	data, err := json.Marshal(out)
	if err != nil { // numbers and names only
		panic(fmt.Sprintf("engine: encode stats: %v", err))
	}
	return data
}

// warnings are about options that do not fit the judge. A simulated judge has no
// temperature: its votes differ by seed.
func (e *Engine) warnings() []string {
	if e.judge.config.Type == options.TypeSimulated {
		return nil
	}
	return e.method.Warnings(e.judge.config.Temperature)
}
