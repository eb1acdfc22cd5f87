package prompt

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/fault"
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
		"unknown variable":       {Coarse, "{{query}}\n{{rubrics}}{{anchor}}", []string{":2: ", "unknown variable {{anchor}}", "{{anchors}}"}},
		"variable of another":    {Coarse, "{{query}}{{rubrics}}{{anchors}}{{candidate}}{{winners}}", []string{"unknown variable {{winners}}"}},
		"block used twice":       {Coarse, "{{query}}{{rubrics}}{{anchors}}{{candidate}}{{query}}", []string{"{{query}} is used twice"}},
		"unclosed":               {Coarse, "{{query}}\n\n{{rubrics}", []string{":3: ", "{{ without }}"}},
		"broken over lines":      {Coarse, "{{query\n}}", []string{":1: ", "{{ without }}"}},
		"empty name":             {Coarse, "{{}}", []string{"unknown variable {{}}"}},
		"a condition":            {Manager, "{{query}}\n{{if lookahead}}{{lookahead}}{{end}}", []string{":2: ", "{{if}} and {{end}} are not supported, delete them", "{{lookahead}} as a paragraph of its own"}},
		"its end":                {Coarse, "{{end}}", []string{"{{if}} and {{end}} are not supported"}},
		"if alone":               {Coarse, "{{ if }}", []string{"{{if}} and {{end}} are not supported"}},
		"not UTF-8":              {Coarse, "\xff", []string{"is not valid UTF-8"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "mine.txt")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Load(map[Kind]string{c.kind: path})
			if !errors.Is(err, fault.InvalidValue) {
				t.Fatalf("got %v, want %s", err, fault.InvalidValue)
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
		"no such file": {map[Kind]string{Fine: filepath.Join(dir, "absent.txt")}, "absent.txt: prompts.fine: no such file or directory; give the path"},
		"its text":     {map[Kind]string{Fine: strings.Repeat("Sort these: {{candidates}}\n", 400)}, "give the path of a file that holds the template"},
		"a directory":  {map[Kind]string{Fine: dir}, "regular file"},
		"too big":      {map[Kind]string{Fine: big}, "at most"},
		"no such kind": {map[Kind]string{"course": big}, "prompts.course: no such kind; the kinds are coarse,"},
	} {
		if _, err := Load(c.files); fault.From(err).Code.Status() != fault.StatusInvalid || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want a fault of the caller that says %q", name, err, c.want)
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
	if !reflect.DeepEqual(templates.own, defaults) {
		t.Errorf("got %v\nwant %v", templates.own, defaults)
	}
	if _, err := Source("course"); !errors.Is(err, fault.UnknownField) || !strings.Contains(err.Error(), "the kinds are coarse,") {
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
		ours, err := templates.Render(kind, samples()[name].vars)
		if err != nil {
			t.Fatalf("%s: %v; is there a sample of it in golden_test.go?", kind, err)
		}
		shipped, _ := new(Templates).Render(kind, samples()[name].vars)
		if (ours[1] == shipped[1]) != same {
			t.Errorf("%s: same as shipped: %v, want %v", kind, !same, same)
		}
	}
}

func TestLookaheadTakesItsEmptyLineAlong(t *testing.T) {
	v := samples()["manager"].vars
	body := "{{query}}{{rubrics}}{{anchors}}{{candidates}}{{order}}"
	for name, c := range map[string]struct{ text, without, with string }{
		"own paragraph": {"a\n\n{{lookahead}}\n\nc {{keep}}", "a\n\nc 4", "a\n\nL\n\nc 4"},
		"CRLF":          {"a\r\n\r\n{{lookahead}}\r\n\r\nc {{keep}}", "a\r\n\r\nc 4", "a\r\n\r\nL\r\n\r\nc 4"},
		"in a line":     {"a {{lookahead}}c {{keep}}", "a c 4", "a Lc 4"},
		"in a section":  {"a\n{{lookahead}}\n\nc {{keep}}", "a\n\n\nc 4", "a\nL\n\nc 4"},
		"at the start":  {"{{lookahead}}\n\nc {{keep}}", "c 4", "L\n\nc 4"},
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
			got = strings.Replace(got, lookaheadHeading, "", 1)
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
		"no query": {"coarse", func(v *Vars) { v.Query.Text = "" }, "query"},
		"a role of markers": {"coarse_chat", func(v *Vars) {
			v.Query = chatQuery
			v.Query.Messages = append(v.Query.Messages[:1:1], v.Query.Messages[0])
			v.Query.Messages[1].Role = "u]]"
		}, "query[1].role"},
		"no rubrics":          {"fine", func(v *Vars) { v.Rubrics = nil }, "rubrics"},
		"two for one rubric":  {"rubric_score", func(v *Vars) { v.Rubrics = someRubrics }, "rubrics"},
		"no anchors":          {"coarse_order", func(v *Vars) { v.Anchors = nil }, "anchors"},
		"two candidates":      {"score", func(v *Vars) { v.Candidates = []string{"a", "b"} }, "candidates"},
		"three in a pair":     {"pair", func(v *Vars) { v.Candidates = []string{"a", "b", "c"} }, "candidates"},
		"none to sort":        {"fine", func(v *Vars) { v.Candidates = nil }, "candidates"},
		"no winners":          {"select", func(v *Vars) { v.Winners = 0 }, "winners"},
		"too many winners":    {"select", func(v *Vars) { v.Winners = 4 }, "winners"},
		"nothing ranked":      {"rubrics", func(v *Vars) { v.Ranked = nil }, "ranked"},
		"an id not shown":     {"manager", func(v *Vars) { v.Order = []string{"A0", "L0"} }, `order[1]: "L0"`},
		"an id twice":         {"manager", func(v *Vars) { v.Order = []string{"A0", "A0"} }, "order[1]"},
		"more than there are": {"manager", func(v *Vars) { v.Keep = 6 }, "keep"},
		"nothing kept":        {"manager", func(v *Vars) { v.Keep = 0 }, "keep"},
	} {
		s := samples()[c.sample]
		c.spoil(&s.vars)
		if _, err := new(Templates).Render(s.kind, s.vars); fault.From(err).Code.Status() != fault.StatusInvalid || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want a fault of the caller that says %q", name, err, c.want)
		}
	}
	if _, err := new(Templates).Render("unheard", Vars{}); !errors.Is(err, fault.Internal) {
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
			if !errors.Is(err, fault.InvalidValue) {
				t.Errorf("got %v, want %s", err, fault.InvalidValue)
			}
			return
		}
		// Whatever is accepted can be read back.
		checkRoundTrip(t, &Templates{own: map[Kind]template{Kind(kind): tpl}}, Kind(kind), samples()[kind].vars)
	})
}
