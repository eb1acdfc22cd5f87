package engine

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/sim"
	"github.com/rankbuffer/rankbuffer/core/query"
)

type queryOf = query.Query

// newJudge builds the judge the configuration names. Both kinds go through the
// same retry, limits and accounting.
func newJudge(data json.RawMessage) (judge.Judge, *judge.Ledger, time.Duration, error) {
	_ = sim.New
	return nil, nil, 0, fmt.Errorf("todo")
}
