package prompt

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestLoadRefusesByName(t *testing.T) {
	for name, c := range map[string]struct {
		kind Kind
		text string
		want []string // in the error
	}{
		"variable missing":       {Coarse, "{{query}} {{rubrics}} {{candidate}}", []string{"needs {{anchors}}"}},
		"all missing are listed": {Coarse, "{{query}}", []string{"{{rubrics}}", "{{anchors}}", "{{candidate}}"}},
		"empty file":             {Pair, "", []string{"{{query}}", "{{rubrics}}", "{{candidates}}"}},
		"unknown variable":       {Coarse, "{{query}}\n{{rubrics}}{{anchor}}", []string{"line 2", "unknown variable {{anchor}}", "{{anchors}}"}},
		"variable of another":    {Coarse, "{{query}}{{rubrics}}{{anchors}}{{candidate}}{{winners}}", []string{"unknown variable {{winners}}"}},
		"block used twice":       {Coarse, "{{query}}{{rubrics}}{{anchors}}{{candidate}}{{query}}", []string{"{{query}} is used twice"}},
		"unclosed":               {Coarse, "{{query}}\n\n{{rubrics}", []string{"line 3", "{{ without }}"}},
		"broken over lines":      {Coarse, "{{query\n}}", []string{"line 1", "{{ without }}"}},
		"empty name":             {Coarse, "{{}}", []string{"unknown variable {{}}"}},
		"if without end":         {Manager, "{{if lookahead}}{{lookahead}}", []string{"{{if lookahead}} has no {{end}}"}},
		"end without if":         {Manager, "\n{{end}}", []string{"line 2", "{{end}} without {{if}}"}},
		"if within if":           {Manager, "{{if lookahead}}{{if lookahead}}{{end}}{{end}}", []string{"{{if}} within {{if}}"}},
		"if of another kind":     {Coarse, "{{if lookahead}}{{end}}", []string{"{{if lookahead}}", "only"}},
		"if of a variable":       {Manager, "{{if keep}}{{end}}", []string{"{{if keep}}", "only"}},
		"needed text within if":  {Manager, "{{if lookahead}}{{query}}{{end}}", []string{"{{query}} within {{if lookahead}}"}},
		"not UTF-8":              {Coarse, "\xff", []string{"is not UTF-8"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "mine.txt")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Load(map[Kind]string{c.kind: path})
			if !errors.Is(err, ErrTemplate) {
				t.Fatalf("got %v, want ErrTemplate", err)
			}
			for _, part := range append(c.want, path, "prompts."+string(c.kind)) {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not say %q", err, part)
				}
			}
		})
	}
}

func TestLoadRefusesFiles(t *testing.T) {
	dir := t.TempDir()
	big := filepath.Join(dir, "big.txt")
	if err := os.WriteFile(big, make([]byte, maxTemplate+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		files map[Kind]string
		want  string
	}{
		"no such file": {map[Kind]string{Fine: filepath.Join(dir, "absent.txt")}, "absent.txt\": no such file or directory; want the path"},
		"its text":     {map[Kind]string{Fine: strings.Repeat("Sort these: {{candidates}}\n", 400)}, "want the path of a file that holds the template"},
		"a directory":  {map[Kind]string{Fine: dir}, "regular file"},
		"too big":      {map[Kind]string{Fine: big}, "at most"},
		"no such kind": {map[Kind]string{"course": big}, "prompts.course: invalid template: no such kind; the kinds are coarse,"},
	} {
		if _, err := Load(c.files); !errors.Is(err, ErrTemplate) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want ErrTemplate that says %q", name, err, c.want)
		}
	}
}

// What Source returns is a template that changes nothing.
func TestSourceIsWhatShips(t *testing.T) {
	files := map[Kind]string{}
	for _, kind := range Kinds() {
		text, err := Source(kind)
		if err != nil {
			t.Fatal(err)
		}
		files[kind] = filepath.Join(t.TempDir(), string(kind))
		if err := os.WriteFile(files[kind], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	templates, err := Load(files)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(templates, Default()) {
		t.Errorf("got %v\nwant %v", templates, Default())
	}
	if _, err := Source("course"); !errors.Is(err, ErrTemplate) || !strings.Contains(err.Error(), "the kinds are coarse,") {
		t.Errorf("unknown kind: %v", err)
	}
}

func TestLoadOverridesOneKind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pair.txt")
	text := "\ufeffMine. {{ candidates }}\r\n{\"a\": {\"b\": 1}}\n{{query}}{{rubrics}}\n\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	templates, err := Load(map[Kind]string{Pair: path})
	if err != nil {
		t.Fatal(err)
	}
	v := samples()["pair"].vars
	messages, err := templates.Render(Pair, v)
	if err != nil {
		t.Fatal(err)
	}
	got := messages[1].Content
	if !strings.HasPrefix(got, "Mine. [[A #") || !strings.Contains(got, "]]\r\n{\"a\": {\"b\": 1}}\n[[QUERY #") || !strings.HasSuffix(got, "]]") {
		t.Errorf("got %q", got)
	}
	checkRoundTrip(t, templates, Pair, v)
	for _, kind := range Kinds() {
		name := string(kind)
		same := kind != Pair
		ours, _ := templates.Render(kind, samples()[name].vars)
		shipped, _ := Default().Render(kind, samples()[name].vars)
		if (ours[1] == shipped[1]) != same {
			t.Errorf("%s: same as shipped: %v, want %v", kind, !same, same)
		}
	}
}

func TestConditionTakesItsLinesAlong(t *testing.T) {
	v := samples()["manager"].vars
	body := "{{query}}{{rubrics}}{{anchors}}{{candidates}}{{order}}"
	for name, c := range map[string]struct{ text, without, with string }{
		"own lines":    {"a\n{{if lookahead}}\nb {{lookahead}}\n{{end}}\nc {{keep}}", "a\nc 4", "a\nb L\nc 4"},
		"CRLF":         {"a\r\n{{if lookahead}}\r\nb {{lookahead}}\r\n{{end}}\r\nc {{keep}}", "a\r\nc 4", "a\r\nb L\r\nc 4"},
		"in a line":    {"a {{if lookahead}}b {{lookahead}}{{end}}c {{keep}}", "a c 4", "a b Lc 4"},
		"at the start": {"{{if lookahead}}\n{{lookahead}}\n{{end}}\nc {{keep}}", "c 4", "L\nc 4"},
	} {
		templates := mustParse(t, Manager, c.text+body)
		for _, ahead := range []bool{false, true} {
			v.Lookahead = nil
			want := c.without
			if ahead {
				v.Lookahead, want = []string{"soon"}, c.with
			}
			messages, err := templates.Render(Manager, v)
			if err != nil {
				t.Fatal(err)
			}
			tag := tagOf(t, Manager, v)
			got, _, _ := strings.Cut(messages[1].Content, openMarker("QUERY", tag))
			got = strings.Replace(got, openMarker("L0", tag)+"\nsoon\n"+closeMarker("L0", tag), "L", 1)
			if got != want {
				t.Errorf("%s, look-ahead %v: got %q, want %q", name, ahead, got, want)
			}
		}
	}
}

func TestRenderRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		sample string
		spoil  func(*Vars)
		want   string
	}{
		"no query": {"coarse", func(v *Vars) { v.Query.Text = "" }, "Query"},
		"a role of markers": {"coarse_chat", func(v *Vars) {
			v.Query = chatQuery
			v.Query.Messages = append(v.Query.Messages[:1:1], v.Query.Messages[0])
			v.Query.Messages[1].Role = "u]]"
		}, "query[1].role"},
		"no rubrics":          {"fine", func(v *Vars) { v.Rubrics = nil }, "Rubrics"},
		"two for one rubric":  {"rubric_score", func(v *Vars) { v.Rubrics = someRubrics }, "Rubrics"},
		"no anchors":          {"coarse_order", func(v *Vars) { v.Anchors = nil }, "Anchors"},
		"two candidates":      {"score", func(v *Vars) { v.Candidates = []string{"a", "b"} }, "Candidates"},
		"three in a pair":     {"pair", func(v *Vars) { v.Candidates = []string{"a", "b", "c"} }, "Candidates"},
		"none to sort":        {"fine", func(v *Vars) { v.Candidates = nil }, "Candidates"},
		"no winners":          {"select", func(v *Vars) { v.Winners = 0 }, "Winners"},
		"too many winners":    {"select", func(v *Vars) { v.Winners = 4 }, "Winners"},
		"nothing ranked":      {"rubrics", func(v *Vars) { v.Ranked = nil }, "Ranked"},
		"an id not shown":     {"manager", func(v *Vars) { v.Order = []string{"A0", "L0"} }, `Order[1]: "L0"`},
		"an id twice":         {"manager", func(v *Vars) { v.Order = []string{"A0", "A0"} }, "Order[1]"},
		"more than there are": {"manager", func(v *Vars) { v.Keep = 6 }, "Keep"},
		"nothing kept":        {"manager", func(v *Vars) { v.Keep = 0 }, "Keep"},
	} {
		s := samples()[c.sample]
		c.spoil(&s.vars)
		if _, err := Default().Render(s.kind, s.vars); !errors.Is(err, ErrVars) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want ErrVars that says %q", name, err, c.want)
		}
	}
	if _, err := Default().Render("unheard", Vars{}); !errors.Is(err, ErrVars) {
		t.Errorf("unknown kind: got %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, kind := range Kinds() {
		text, err := shipped.ReadFile("templates/" + string(kind) + ".txt")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(kind), text)
	}
	f.Fuzz(func(t *testing.T, kind string, text []byte) {
		if _, ok := kinds[Kind(kind)]; !ok {
			return
		}
		tpl, err := parse(Kind(kind), text)
		if err != nil {
			if !errors.Is(err, ErrTemplate) {
				t.Errorf("got %v, want ErrTemplate", err)
			}
			return
		}
		// Whatever is accepted can be read back.
		checkRoundTrip(t, &Templates{byKind: map[Kind]template{Kind(kind): tpl}}, Kind(kind), samples()[kind].vars)
	})
}
