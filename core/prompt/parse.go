package prompt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rankbuffer/rankbuffer/core/fault"
)

// The syntax: {{name}} is replaced by the variable's text, in one pass (what is
// substituted is never read as a template). There is no escape: "{{" always opens
// a variable, while a lone "}}" is text, as JSON contracts need it.

// template is literal text and variables in turn.
type template []segment

// segment is literal text or a variable to substitute. An empty line behind a
// {{lookahead}} that is a paragraph of its own shows only if it has content.
type segment struct {
	literal   string
	variable  string
	emptyLine string
}

const noConditions = "{{if}} and {{end}} are not supported, delete them. {{lookahead}} as a paragraph of its own " +
	"brings its heading along and shows nothing when there are no upcoming rollouts"

// parse reads a template. Its errors name the line.
func parse(kind Kind, source []byte) (template, error) {
	var tpl template
	used := map[string]int{}
	rest, line := strings.TrimRight(string(source), " \t\r\n"), 1
	for {
		literal, after, found := strings.Cut(rest, "{{")
		tpl = append(tpl, segment{literal: literal})
		if !found {
			break
		}
		line += strings.Count(literal, "\n")
		name, after, closed := strings.Cut(after, "}}")
		if !closed || strings.Contains(name, "\n") {
			return nil, inLine(line, "{{ without }}")
		}
		next := segment{variable: strings.TrimSpace(name)}
		used[next.variable]++
		if problem := kinds[kind].refuse(next.variable, used[next.variable]); problem != "" {
			return nil, inLine(line, problem)
		}
		if next.variable == "lookahead" {
			next.emptyLine = emptyLineAfter(literal, after)
			line += strings.Count(next.emptyLine, "\n")
		}
		tpl = append(tpl, next)
		rest = after[len(next.emptyLine):]
	}
	missing := slices.DeleteFunc(slices.Clone(kinds[kind].required), func(name string) bool { return used[name] > 0 })
	if len(missing) > 0 {
		return nil, inLine(0, fmt.Sprintf("a template for %s needs {{%s}}", kind, strings.Join(missing, "}}, {{")))
	}
	return tpl, nil
}

// refuse says why a variable cannot stand in a template for the n-th time, or
// returns "".
func (s shape) refuse(name string, n int) string {
	known := slices.Concat(s.required, s.optional)
	switch {
	case name == "end" || name == "if" || strings.HasPrefix(name, "if "):
		return noConditions
	case !slices.Contains(known, name):
		return fmt.Sprintf("unknown variable {{%s}}; this template has {{%s}}", name, strings.Join(known, "}}, {{"))
	case n > 1 && slices.Contains(blocks, name):
		return fmt.Sprintf("{{%s}} is used twice", name)
	}
	return ""
}

// emptyLineAfter is the line break and the empty line with which after begins,
// if before ends with the same or is empty.
func emptyLineAfter(before, after string) string {
	for _, gap := range []string{"\n\n", "\r\n\r\n"} {
		if strings.HasPrefix(after, gap) && (before == "" || strings.HasSuffix(before, gap)) {
			return gap
		}
	}
	return ""
}

func inLine(line int, problem string) error {
	e := fault.New(fault.InvalidValue, "", "%s", problem)
	e.Line = line
	return e
}
