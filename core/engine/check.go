package engine

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/rank"
	"github.com/rankbuffer/rankbuffer/core/strict"
)

// checkJSON is what CheckConfig reads.
type checkJSON struct {
	Config  json.RawMessage `json:"config"` // a scorer's
	Queries []givenQuery    `json:"queries"`
}

// CheckConfig reports the first reason why a scorer could not be made of the
// configuration or could not take one of the queries. It asks no judge and keeps
// nothing. Errors about a query name it by its index, as "queries[3].ranked".
func CheckConfig(document []byte) error {
	var given checkJSON
	if err := strict.Unmarshal("", document, &given); err != nil {
		return err
	}
	if given.Config == nil {
		return fault.New(fault.MissingField, "config", "missing, want {\"method\": ..., \"judge\": ...}")
	}
	e, err := New(given.Config)
	if err != nil {
		return err
	}
	defer e.Close(context.Background()) // nothing is in flight
	for i, q := range given.Queries {
		if err := e.checkQuery(q); err != nil {
			return fault.In(fmt.Sprintf("queries[%d]", i), err)
		}
	}
	return nil
}

func (e *Engine) checkQuery(q givenQuery) error {
	if err := e.limits.checkQuery(q); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.admitQuery(&rank.Spec{Query: e.answers(q.Query), Reference: q.Reference})
}
