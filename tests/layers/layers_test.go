// Package layers holds the one rule about the shape of the Go code: data flows
// one way, python -> capi -> core/engine -> core/rank/methods -> core/rank -> core/judge, core/prompt,
// core/buffer, core/reward, and only the engine imports what reads and writes files.
package layers

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/rankbuffer/rankbuffer/"

// base is the vocabulary that every package above it may import.
var base = []string{"core/fault", "core/strict", "core/query"}

// layers lists the packages from the bottom up, each with what it may import
// beside the base. A new package needs a line: think about where it belongs
// before adding one.
var layers = []struct {
	name string
	may  []string
}{
	{"core/fault", nil},
	{"core/strict", nil},
	{"core/query", nil},
	{"core/prompt", nil},
	{"core/buffer", nil},
	{"core/reward", nil},
	{"core/checkpoint", []string{"core/buffer"}},
	{"core/judge/ledger", []string{"core/prompt"}},
	{"core/judge", []string{"core/prompt", "core/judge/ledger"}},
	{"core/judge/options", nil},
	{"core/judge/verdict", []string{"core/judge"}},
	{"core/judge/stack", []string{"core/judge/ledger", "core/judge", "core/judge/options"}},
	{"core/judge/openai", []string{"core/prompt", "core/judge", "core/judge/options"}},
	{"core/judge/judgetest", []string{"core/prompt", "core/judge"}},
	// The simulated judge answers as a model would, so it knows the selection
	// rule a model is told about, and what a judge is not shown.
	{"core/judge/sim", []string{"core/prompt", "core/buffer", "core/reward", "core/judge"}},
	{"core/rubrics", []string{"core/prompt", "core/judge", "core/judge/verdict"}},
	{"core/rank", []string{"core/prompt", "core/buffer", "core/reward", "core/judge/ledger", "core/judge", "core/judge/verdict"}},
	{"core/rank/calls", []string{"core/prompt", "core/judge", "core/judge/verdict", "core/rank"}},
	{"core/rank/methods", []string{"core/prompt", "core/buffer", "core/reward", "core/judge", "core/judge/verdict", "core/rank", "core/rank/calls"}},
	{"core/engine", []string{"core/prompt", "core/buffer", "core/reward", "core/checkpoint", "core/judge/ledger", "core/judge", "core/judge/options",
		"core/judge/verdict", "core/judge/stack", "core/judge/openai", "core/judge/sim", "core/rank", "core/rank/methods", "core/rubrics"}},
	{"capi", []string{"core/judge/sim", "core/engine"}},
}

// allowed is layers for looking up.
var allowed = func() map[string][]string {
	all := map[string][]string{}
	for i, l := range layers {
		all[l.name] = slices.Concat(base[:min(i, len(base))], l.may)
	}
	return all
}()

type listed struct {
	ImportPath string
	Imports    []string
}

// list returns this module's packages that the given patterns build.
func list(t *testing.T, patterns ...string) []listed {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-e", "-deps", "-json=ImportPath,Imports"}, patterns...)...)
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
		for _, imported := range p.Imports {
			imported, ours := strings.CutPrefix(imported, module)
			if ours && !slices.Contains(may, imported) {
				t.Errorf("%s imports %s, which it may not", name, imported)
			}
		}
	}
}

// The table itself points one way: a package imports what stands above it.
func TestLayersAreListedFromTheBottomUp(t *testing.T) {
	below := map[string]bool{}
	for _, l := range layers {
		for _, imported := range allowed[l.name] {
			if !below[imported] {
				t.Errorf("%s may import %s, which is not listed above it", l.name, imported)
			}
		}
		if below[l.name] {
			t.Errorf("%s is listed twice", l.name)
		}
		below[l.name] = true
	}
}

// ARCHITECTURE.md has a row for each package, with what it may import beside the
// base, and fits on two pages.
func TestArchitectureListsTheLayers(t *testing.T) {
	page, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(page), "\n"); n > 150 {
		t.Errorf("ARCHITECTURE.md has %d lines, 150 at most", n)
	}
	for _, l := range layers {
		_, row, found := strings.Cut(string(page), "\n| `"+l.name+"` | ")
		row, _, _ = strings.Cut(row, " |\n")
		_, imports, _ := strings.Cut(row, " | ")
		switch {
		case !found:
			t.Errorf("ARCHITECTURE.md has no row for %s", l.name)
		case imports == "all of the above":
		default:
			var want []string
			for _, name := range l.may {
				want = append(want, "`"+path.Base(name)+"`")
			}
			slices.Sort(want)
			got := strings.Split(strings.TrimSuffix(imports, "|"), ", ")
			slices.Sort(got)
			if strings.TrimSpace(strings.Join(got, " ")) != strings.Join(want, " ") {
				t.Errorf("ARCHITECTURE.md: %s imports %v, this test allows %v", l.name, got, want)
			}
		}
	}
}

// Every file and folder that ARCHITECTURE.md names is there.
func TestArchitectureNamesFilesThatExist(t *testing.T) {
	page, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`((?:core|capi|python|tests)/[a-z_/.]+)`").FindAllStringSubmatch(string(page), -1)
	if len(named) < 30 {
		t.Errorf("only %d found", len(named))
	}
	for _, name := range named {
		if _, err := os.Stat("../../" + name[1]); err != nil {
			t.Errorf("ARCHITECTURE.md: %v", err)
		}
	}
}

// Only these packages may touch C, files and the network; the rest computes.
func TestOutsideWorldIsReachedFromFewPlaces(t *testing.T) {
	owners := map[string][]string{
		"C":        {"capi"},
		"net":      {"capi", "core/judge/openai", "core/judge/sim"},
		"net/http": {"capi", "core/judge/openai", "core/judge/sim"},
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
