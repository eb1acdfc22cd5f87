// Package methods holds the reward methods: each is one file named after it and
// one row of the registry.
package methods

import (
	"slices"
	"strings"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/rank"
	"github.com/rankbuffer/rankbuffer/core/strict"
)

// Row is one registered method.
type Row struct {
	Name string
	New  func() rank.Method // with its defaults, ready to decode options into
}

// rows is the registry: adding a method is one file and one row here.
var rows = []Row{
	{"rankbuffer", newRankBuffer},
	{"scr", newSCR},
	{"agr", newAGR},
	{"prc", newPRC},
	{"genrm", newGenRM},
	{"tournament", newTournament},
	{"arena", newArena},
	{"pairwise", newPairwise},
	{"winrate", newWinRate},
	{"pointwise", newPointwise},
	{"gdpo", newGDPO},
	{"implicit", newImplicit},
	{"explicit", newExplicit},
	{"listwise", newListwise},
}

// Rows returns the registered methods.
func Rows() []Row { return slices.Clone(rows) }

// New makes a method from its JSON options, {"name": ..., option: value, ...}.
// Absent options take their defaults, unknown ones are refused by name.
func New(options []byte) (rank.Method, error) {
	var head map[string]any // the name alone: which options are known depends on it
	if err := strict.Unmarshal("method", options, &head); err != nil {
		return nil, err
	}
	name, ok := head["name"].(string)
	if !ok {
		return nil, fault.New(fault.MissingField, "method.name", "missing, want one of %s", strings.Join(names(), ", "))
	}
	i := slices.Index(names(), name)
	if i < 0 {
		return nil, fault.OneOf("method.name", name, names()...)
	}
	m, field := rows[i].New(), "method."+name
	if err := strict.Unmarshal(field, options, m); err != nil {
		return nil, err
	}
	if err := m.Validate(); err != nil {
		return nil, fault.In(field, err)
	}
	return m, nil
}

func names() []string {
	out := make([]string, len(rows))
	for i, row := range rows {
		out[i] = row.Name
	}
	return out
}
