// Package layers holds the one rule about the shape of the Go code: data flows
// one way, python -> capi -> core/engine -> core/rank -> core/judge, core/prompt,
// core/buffer, core/reward, and files are the engine's business alone.
package layers

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/rankbuffer/rankbuffer/"

// allowed lists, for every package, the packages of this module it may depend
// on, directly or through others. A new package needs a line: think about where
// it belongs before adding one.
var allowed = map[string][]string{
	"core/fault":           {},
	"core/strict":          {},
	"core/query":           {"core/strict"},
	"core/prompt":          {"core/strict", "core/query"},
	"core/buffer":          {"core/strict", "core/query"},
	"core/reward":          {"core/strict", "core/query"},
	"core/judge/ledger":    {"core/strict", "core/query", "core/prompt"},
	"core/judge":           {"core/strict", "core/query", "core/prompt", "core/fault", "core/judge/ledger"},
	"core/judge/options":   {"core/strict", "core/fault"},
	"core/judge/verdict":   {"core/strict", "core/query", "core/prompt", "core/fault", "core/judge/ledger", "core/judge"},
	"core/judge/stack":     {"core/strict", "core/query", "core/prompt", "core/fault", "core/judge/ledger", "core/judge", "core/judge/options"},
	"core/judge/openai":    {"core/strict", "core/query", "core/prompt", "core/fault", "core/judge/ledger", "core/judge", "core/judge/options"},
	"core/judge/judgetest": {"core/strict", "core/query", "core/prompt", "core/fault", "core/judge/ledger", "core/judge"},
	// The simulated judge answers as a model would, so it knows the selection
	// rule a model is told about, and what a judge is not shown.
	"core/judge/sim": {"core/strict", "core/query", "core/prompt", "core/fault", "core/judge/ledger", "core/judge", "core/buffer", "core/reward"},
	"core/rank": {"core/strict", "core/query", "core/prompt", "core/fault", "core/judge/ledger", "core/judge", "core/judge/verdict",
		"core/buffer", "core/reward"},
	"core/checkpoint": {"core/strict", "core/query", "core/fault", "core/buffer"},
	"core/engine": {"core/strict", "core/query", "core/prompt", "core/fault", "core/judge/ledger", "core/judge", "core/judge/options",
		"core/judge/verdict", "core/judge/stack", "core/judge/openai", "core/judge/sim", "core/buffer", "core/reward", "core/rank",
		"core/checkpoint"},
	"capi": {"core/strict", "core/query", "core/prompt", "core/fault", "core/judge/ledger", "core/judge", "core/judge/options",
		"core/judge/verdict", "core/judge/stack", "core/judge/openai", "core/judge/sim", "core/buffer", "core/reward", "core/rank",
		"core/checkpoint", "core/engine"},
}

type listed struct {
	ImportPath string
	Imports    []string // direct
	Deps       []string // all
}

// list returns this module's packages that the given patterns build.
func list(t *testing.T, patterns ...string) []listed {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-e", "-deps", "-json=ImportPath,Imports,Deps"}, patterns...)...)
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		t.Fatalf("go list: %v\n%s", err, exit.Stderr)
	} else if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); err == io.EOF {
			return packages
		} else if err != nil {
			t.Fatalf("go list's output: %v", err)
		}
		if strings.HasPrefix(p.ImportPath, module) {
			packages = append(packages, p)
		}
	}
}

func TestDependenciesPointOneWay(t *testing.T) {
	packages := list(t, "./core/...", "./capi")
	if len(packages) < 5 {
		t.Fatalf("go list found %d packages of %s: is this test looking in the right place?", len(packages), module)
	}
	for _, p := range packages {
		name := strings.TrimPrefix(p.ImportPath, module)
		may, known := allowed[name]
		if !known {
			t.Errorf("%s is in no layer: say in this test what it may depend on", name)
			continue
		}
		for _, dep := range p.Deps {
			dep, ours := strings.CutPrefix(dep, module)
			if ours && !slices.Contains(may, dep) {
				t.Errorf("%s depends on %s, which is not below it", name, dep)
			}
		}
	}
}

// The layers themselves must allow no cycle: whatever a package may depend on
// may depend on nothing that the package may not.
func TestLayersAreTransitive(t *testing.T) {
	for name, may := range allowed {
		for _, dep := range may {
			if dep == name {
				t.Errorf("%s lists itself", name)
			}
			for _, below := range allowed[dep] {
				if !slices.Contains(may, below) {
					t.Errorf("%s may use %s, which may use %s, which %s may not", name, dep, below, name)
				}
			}
		}
	}
}

// Only these packages may touch C, files and the network; the rest computes.
func TestOutsideWorldIsReachedFromFewPlaces(t *testing.T) {
	owners := map[string][]string{
		"C":        {"capi"},
		"net":      {"capi", "core/judge/openai", "core/judge/sim", "core/judge/judgetest"},
		"net/http": {"capi", "core/judge/openai", "core/judge/sim", "core/judge/judgetest"},
		"os":       {"core/checkpoint", "core/prompt", "core/judge/openai", "core/judge/options"},
		"os/exec":  {},
	}
	for _, p := range list(t, "./core/...", "./capi") {
		name := strings.TrimPrefix(p.ImportPath, module)
		for _, imported := range p.Imports {
			if may, guarded := owners[imported]; guarded && !slices.Contains(may, name) {
				t.Errorf("%s imports %q; only %v may", name, imported, may)
			}
		}
	}
}
