package prompt

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/strict"
)

// maxTemplate bounds a template file, in bytes.
const maxTemplate = 1 << 20

// shownPath bounds what an error repeats of a path, in bytes.
const shownPath = 200

//go:embed templates/*.txt templates/fragments/*.txt
var shipped embed.FS

// defaults are the templates that ship with the package.
var defaults = func() map[Kind]template {
	all := make(map[Kind]template, len(kinds))
	for kind := range kinds {
		var err error
		if all[kind], err = parse(kind, []byte(shippedText(string(kind)))); err != nil {
			panic(fmt.Sprintf("prompt: the template %s that ships: %v", kind, err)) // tests hold it
		}
	}
	return all
}()

// lookaheadHeading stands above the upcoming rollouts that {{lookahead}} shows.
var lookaheadHeading = shippedText("fragments/lookahead")

func shippedText(name string) string {
	text, err := shipped.ReadFile("templates/" + name + ".txt")
	if err != nil {
		panic("prompt: " + err.Error()) // a build without its own templates; tests hold it
	}
	return string(text)
}

// Templates are the templates that ship with the package, some of them replaced
// by a user's. The zero value and nil replace none. It is immutable.
type Templates struct{ own map[Kind]template }

func (t *Templates) of(kind Kind) template {
	if t != nil && t.own[kind] != nil {
		return t.own[kind]
	}
	return defaults[kind]
}

// Source returns the text of the template that ships for a kind, to start a file
// of one's own from.
func Source(kind Kind) (string, error) {
	if err := known(kind); err != nil {
		return "", err
	}
	return shippedText(string(kind)), nil
}

func known(kind Kind) error {
	if _, ok := kinds[kind]; !ok {
		var names []string
		for _, k := range Kinds() {
			names = append(names, string(k))
		}
		return fault.New(fault.UnknownField, "prompts."+string(kind), "no such kind; the kinds are %s", strings.Join(names, ", "))
	}
	return nil
}

// Load returns the shipped templates with those of files, kind -> path, in
// their place. A template that lacks a variable its kind needs, uses a block of
// text twice or names a variable its kind does not have is refused: the error
// names the kind, the file and the line.
func Load(files map[Kind]string) (*Templates, error) {
	t := &Templates{own: make(map[Kind]template, len(files))}
	for _, kind := range slices.Sorted(maps.Keys(files)) {
		if err := known(kind); err != nil {
			return nil, err
		}
		text, err := readTemplate(files[kind])
		if err == nil {
			t.own[kind], err = parse(kind, text)
		}
		if err != nil {
			e := fault.From(err)
			return nil, &fault.Error{Code: fault.InvalidValue, Field: "prompts." + string(kind), File: shorten(files[kind]), Line: e.Line, Err: e.Err}
		}
	}
	return t, nil
}

func readTemplate(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if at := new(fs.PathError); errors.As(err, &at) {
		return nil, fmt.Errorf("%w; give the path of a file that holds the template, not its text", at.Err)
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxTemplate {
		return nil, fmt.Errorf("must be a regular file of at most %d bytes", maxTemplate)
	}
	text, err := os.ReadFile(path)
	if err == nil {
		err = strict.CheckText("", text)
	}
	return bytes.TrimPrefix(text, []byte("\ufeff")), err
}

// shorten bounds a path, which may be the template itself.
func shorten(path string) string {
	if len(path) > shownPath {
		return strings.ToValidUTF8(path[:shownPath], "") + "..."
	}
	return path
}
