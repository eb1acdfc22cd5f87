package prompt

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"unicode/utf8"
)

// ErrTemplate is wrapped by every error about a template.
var ErrTemplate = errors.New("invalid template")

// maxTemplate bounds a template file, in bytes.
const maxTemplate = 1 << 20

// shownPath bounds what an error repeats of a path, in bytes.
const shownPath = 200

//go:embed templates/*.txt
var shipped embed.FS

// Templates holds one parsed template per kind. It is immutable.
type Templates struct{ byKind map[Kind]template }

var defaults = mustShipped()

// Default returns the templates that ship with the package.
func Default() *Templates { return defaults }

// Source returns the text of the template that ships for a kind, to start a file
// of one's own from.
func Source(kind Kind) (string, error) {
	if err := known(kind); err != nil {
		return "", err
	}
	text, err := shipped.ReadFile("templates/" + string(kind) + ".txt")
	return string(text), err
}

func known(kind Kind) error {
	if _, ok := kinds[kind]; !ok {
		return fmt.Errorf("%w: no such kind; the kinds are %s", ErrTemplate, joinKinds())
	}
	return nil
}

func mustShipped() *Templates {
	t := &Templates{byKind: make(map[Kind]template, len(kinds))}
	for _, kind := range Kinds() {
		name := "templates/" + string(kind) + ".txt"
		text, err := shipped.ReadFile(name)
		if err == nil {
			t.byKind[kind], err = parse(kind, text)
		}
		if err != nil {
			panic(fmt.Sprintf("prompt: %s: %v", name, err)) // a build without its own templates; tests hold it
		}
	}
	return t
}

// Load returns the shipped templates with those of files, kind -> path, in
// their place. A template that lacks a variable its kind needs, uses a block of
// text twice or names a variable its kind has not is refused: the error wraps
// ErrTemplate and names the file and the variable.
func Load(files map[Kind]string) (*Templates, error) {
	t := &Templates{byKind: make(map[Kind]template, len(kinds))}
	for kind, tpl := range defaults.byKind {
		t.byKind[kind] = tpl
	}
	names := make([]Kind, 0, len(files))
	for kind := range files {
		names = append(names, kind)
	}
	slices.Sort(names)
	for _, kind := range names {
		if err := known(kind); err != nil {
			return nil, fmt.Errorf("prompt: prompts.%s: %w", kind, err)
		}
		text, err := readTemplate(files[kind])
		if err != nil {
			return nil, fmt.Errorf("prompt: prompts.%s: %w", kind, err)
		}
		if t.byKind[kind], err = parse(kind, text); err != nil {
			return nil, fmt.Errorf("prompt: prompts.%s: %s: %w", kind, files[kind], err)
		}
	}
	return t, nil
}

func joinKinds() string {
	var names []string
	for _, k := range Kinds() {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}

func readTemplate(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, noFile(path, err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxTemplate {
		return nil, fmt.Errorf("%w: %s: want a regular file of at most %d bytes", ErrTemplate, path, maxTemplate)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTemplate, err)
	}
	if !utf8.Valid(text) {
		return nil, fmt.Errorf("%w: %s: is not UTF-8", ErrTemplate, path)
	}
	return bytes.TrimPrefix(text, []byte("\ufeff")), nil
}

// noFile is for a path that leads nowhere, which may be the template itself.
func noFile(path string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	if len(path) > shownPath {
		path = strings.ToValidUTF8(path[:shownPath], "") + "..."
	}
	return fmt.Errorf("%w: %q: %w; want the path of a file that holds the template, not its text", ErrTemplate, path, err)
}

// template is literal text and variables in turn.
type template []segment

// segment is literal text, a variable to substitute, or the whole of an
// {{if name}} .. {{end}} part, which shows only when the variable has content.
type segment struct {
	literal  string
	variable string
	part     template
}

// literals appends the template's own texts, which the tag must not occur in.
func (t template) literals(to []string) []string {
	for _, s := range t {
		if s.literal != "" {
			to = append(to, s.literal)
		}
		to = s.part.literals(to)
	}
	return to
}
