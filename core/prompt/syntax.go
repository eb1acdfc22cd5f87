package prompt

import (
	"fmt"
	"slices"
	"strings"
)

// The syntax: {{name}} is replaced by the variable's text, in one pass (what is
// substituted is never read as a template); {{if name}} .. {{end}} keeps what it
// encloses only when the variable is not empty. An if or end alone on its line
// takes the line with it. There is no escape: "{{" always opens a variable,
// while a lone "}}" is text, as JSON contracts need it.

// blocks are the variables that stand for text under judgement. Each may be
// used once: a second copy would double the tokens and leave ids ambiguous.
var blocks = []string{"query", "rubrics", "rubric", "anchors", "candidate", "candidates", "order", "lookahead", "ranked"}

func parse(kind Kind, source []byte) (template, error) {
	p := parser{kind: kind, rest: strings.TrimRight(string(source), " \t\r\n"), uses: map[string]int{}}
	tpl, err := p.parse("")
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, name := range kinds[kind].required {
		if p.uses[name] == 0 {
			missing = append(missing, "{{"+name+"}}")
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("%w: a %s template needs %s", ErrTemplate, kind, strings.Join(missing, ", "))
	}
	return tpl, nil
}

type parser struct {
	kind Kind
	line int // lines read, for errors
	rest string
	uses map[string]int
}

// parse reads up to the end of the source, or of the {{if}} part named within.
func (p *parser) parse(within string) (template, error) {
	var tpl template
	for {
		literal, after, found := strings.Cut(p.rest, "{{")
		p.line += strings.Count(literal, "\n")
		if !found {
			if within != "" {
				return nil, fmt.Errorf("%w: {{if %s}} has no {{end}}", ErrTemplate, within)
			}
			return appendLiteral(tpl, literal), nil
		}
		inner, after, found := strings.Cut(after, "}}")
		if !found || strings.Contains(inner, "\n") {
			return nil, fmt.Errorf("%w: line %d: {{ without }}", ErrTemplate, p.line+1)
		}
		name := strings.TrimSpace(inner)
		condition, isIf := strings.CutPrefix(name, "if ")
		if isIf || name == "end" {
			literal, after = p.ownLine(literal, after)
		}
		tpl, p.rest = appendLiteral(tpl, literal), after
		switch {
		case name == "end" && within == "":
			return nil, fmt.Errorf("%w: line %d: {{end}} without {{if}}", ErrTemplate, p.line+1)
		case name == "end":
			return tpl, nil
		case isIf && within != "":
			return nil, fmt.Errorf("%w: line %d: {{if}} within {{if}}", ErrTemplate, p.line+1)
		case isIf:
			if condition = strings.TrimSpace(condition); condition != "lookahead" || p.kind != Manager {
				return nil, fmt.Errorf("%w: line %d: {{if %s}}: only {{if lookahead}} in a manager template may be tested", ErrTemplate, p.line+1, condition)
			}
			part, err := p.parse(condition)
			if err != nil {
				return nil, err
			}
			tpl = append(tpl, segment{variable: condition, part: part})
		default:
			if err := p.use(name, within); err != nil {
				return nil, err
			}
			tpl = append(tpl, segment{variable: name})
		}
	}
}

// ownLine drops the line break after a directive that stands alone on its line.
func (p *parser) ownLine(before, after string) (string, string) {
	if before != "" && !strings.HasSuffix(before, "\n") {
		return before, after
	}
	for _, end := range []string{"\r\n", "\n"} {
		if rest, ok := strings.CutPrefix(after, end); ok {
			p.line++
			return before, rest
		}
	}
	return before, after
}

func (p *parser) use(name, within string) error {
	known := append(slices.Clone(kinds[p.kind].required), kinds[p.kind].optional...)
	if !slices.Contains(known, name) {
		return fmt.Errorf("%w: line %d: unknown variable {{%s}}; a %s template has {{%s}}",
			ErrTemplate, p.line+1, name, p.kind, strings.Join(known, "}}, {{"))
	}
	if within != "" && name != within {
		return fmt.Errorf("%w: line %d: {{%s}} within {{if %s}} would vanish with it", ErrTemplate, p.line+1, name, within)
	}
	if p.uses[name]++; p.uses[name] > 1 && slices.Contains(blocks, name) {
		return fmt.Errorf("%w: line %d: {{%s}} is used twice", ErrTemplate, p.line+1, name)
	}
	return nil
}

func appendLiteral(t template, text string) template {
	if text == "" {
		return t
	}
	return append(t, segment{literal: text})
}
