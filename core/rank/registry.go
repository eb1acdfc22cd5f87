package rank

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rankbuffer/rankbuffer/core/strict"
)

// ErrMethod is wrapped by every error about a method's name or options.
var ErrMethod = errors.New("invalid method")

// Row is one registered method.
type Row struct {
	Name string
	New  func() Method // with its defaults, ready to decode options into
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
func Rows() []Row { return append([]Row(nil), rows...) }

// New makes a method from its JSON options, {"name": ..., option: value, ...}.
// Absent options take their defaults, unknown ones are refused by name.
func New(options []byte) (Method, error) {
	name, err := nameOf(options)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		if row.Name != name {
			continue
		}
		m := row.New()
		if err := strict.Unmarshal("method."+name, options, m); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrMethod, err)
		}
		if v, ok := m.(interface{ validate() error }); ok {
			if err := v.validate(); err != nil {
				return nil, fmt.Errorf("%w: method.%s.%w", ErrMethod, name, err)
			}
		}
		return m, nil
	}
	return nil, fmt.Errorf("%w: method.name: %q is not one of %s", ErrMethod, name, strings.Join(names(), ", "))
}

func names() []string {
	out := make([]string, len(rows))
	for i, row := range rows {
		out[i] = row.Name
	}
	return out
}

// nameOf reads the name alone: which options are known depends on it.
func nameOf(options []byte) (string, error) {
	var head map[string]any
	if err := strict.Unmarshal("method", options, &head); err != nil {
		return "", fmt.Errorf("%w: %w", ErrMethod, err)
	}
	name, ok := head["name"].(string)
	if !ok {
		return "", fmt.Errorf("%w: method.name: missing, want one of %s", ErrMethod, strings.Join(names(), ", "))
	}
	return name, nil
}
