package buffer

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/query"
)

func TestNew(t *testing.T) {
	seven := []string{"a", "b", "c", "d", "e", "f", "g"}
	for _, c := range []struct {
		name             string
		source           Source
		texts            []string
		k0, wantInitial  int
		want, wantMarks  string
		wantGroups       int
		wantEpochOfFirst int
	}{
		{"ranked", Ranked, seven, 4, 4, "a c e g", "", 0, 3},
		{"bootstrap", Bootstrap, seven, 2, 2, "a=bootstrap g=bootstrap", "3", 1, 3},
		{"fewer than k0", Ranked, seven[:3], 7, 3, "a b c", "", 0, 3},
		{"repeats count once, at their worst place", Bootstrap, []string{"a", "b", "a", "c", "b"}, 7, 3, "a=bootstrap b=bootstrap c=bootstrap", "3", 1, 3},
	} {
		b := New(c.source, c.texts, c.k0, 3, 9)
		if show(b) != c.want || showMarks(b) != c.wantMarks || b.Initial != c.wantInitial || b.Groups != c.wantGroups {
			t.Errorf("%s: got %q marks %q initial %d groups %d, want %q %q %d %d", c.name, show(b), showMarks(b), b.Initial, b.Groups, c.want, c.wantMarks, c.wantInitial, c.wantGroups)
		}
		if a := b.Anchors[0]; a.Epoch != 3 || a.Step != 9 {
			t.Errorf("%s: first anchor of epoch %d, step %d; want 3, 9", c.name, a.Epoch, a.Step)
		}
	}
	if b := New(Ranked, nil, 4, 0, 0); len(b.Anchors) != 0 || b.Initial != 0 {
		t.Errorf("no texts: %s", dump(b))
	}
}

// The bootstrap group is not maintained, but another group of its epoch is.
func TestBootstrapEpochIsNotObserved(t *testing.T) {
	b := New(Bootstrap, []string{"a", "b", "c"}, 3, 0, 0)
	b = mustUpdate(t, b, split("x | | |"), 0, 1, Options{PruneAfter: 3})
	if want := "x=left a=bootstrap b=bootstrap:1 c=bootstrap"; show(b) != want {
		t.Errorf("got %q, want %q", show(b), want)
	}
}

func TestCount(t *testing.T) {
	b := New(Ranked, []string{"a", "b"}, 2, 0, 0).WithPending(&Pending{Keep: 2})
	for _, epoch := range []int{5, 1, 5, 3} {
		b = b.Count(epoch)
	}
	if b.Groups != 4 || showMarks(b) != "1 3 5" || show(b) != "a b" || b.Pending == nil {
		t.Errorf("got %s", dump(b))
	}
}

func TestReplace(t *testing.T) {
	b := parse("a:1 b=left:2 c", Marks{Epoch: 0, Left: true}).WithPending(&Pending{Keep: 3})
	b.Groups = 4
	before := dump(b)
	got := b.Replace([]string{"x", "b", "y", "x", "a"}, 6, 60)
	if want := "x=llm b=left:2 y=llm a:1"; show(got) != want {
		t.Errorf("got %q, want %q", show(got), want)
	}
	if a := got.Anchors[0]; a.Epoch != 6 || a.Step != 60 {
		t.Errorf("new anchor of epoch %d, step %d; want 6, 60", a.Epoch, a.Step)
	}
	if got.Groups != 4 || got.Initial != 3 || showMarks(got) != "0l" || got.Pending != nil {
		t.Errorf("got %s: want groups, initial and marks kept, nothing pending", dump(got))
	}
	if dump(b) != before {
		t.Errorf("the old buffer changed: %s", dump(b))
	}
}

func TestProgress(t *testing.T) {
	b := parse("w=left a m=refine b c=bootstrap x=right y=llm")
	for position, want := range []float64{0, 0, 1. / 3, 1. / 3, 2. / 3, 1, 1, 1} {
		if got, ok := b.Progress(position); !ok || got != want {
			t.Errorf("position %d: %v, %v; want %v", position, got, ok, want)
		}
	}
	for _, position := range []int{-5, 99} { // out of range is clamped
		if got, ok := b.Progress(position); !ok || (got != 0) != (position > 0) {
			t.Errorf("position %d: %v, %v", position, got, ok)
		}
	}
	if got, ok := parse("w=left x=right").Progress(1); ok || got != 0 {
		t.Errorf("no initial anchor left: %v, %v; want 0, false", got, ok)
	}
}

// Golden JSON: what is stored must not change by accident.
func TestBufferJSON(t *testing.T) {
	b := New(Bootstrap, []string{"a", "b"}, 2, 1, 10)
	b = mustUpdate(t, b, split("| p q r | z"), 2, 20, Options{PruneAfter: 3})
	b = b.WithPending(&Pending{Order: []Placed{{Text: "a", Anchor: true}, {Text: "y"}}, Keep: 2, Epoch: 2, Step: 20})
	const want = `{"initial":2,"anchors":[` +
		`{"text":"a","source":"bootstrap","epoch":1,"step":10,"inactive":0},` +
		`{"text":"q","source":"refine","epoch":2,"step":20,"inactive":0},` +
		`{"text":"b","source":"bootstrap","epoch":1,"step":10,"inactive":0},` +
		`{"text":"z","source":"right","epoch":2,"step":20,"inactive":0}],` +
		`"seen":[{"epoch":1},{"epoch":2,"observed":true,"right":true}],"groups":2,` +
		`"pending":{"order":[{"text":"a","anchor":true},{"text":"y","anchor":false}],"keep":2,"epoch":2,"step":20}}`
	got, err := json.Marshal(b)
	if err != nil || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
	var back Buffer
	if err := json.Unmarshal(got, &back); err != nil || !reflect.DeepEqual(&back, b) {
		t.Errorf("read back %+v, %v", back, err)
	}
}

func TestView(t *testing.T) {
	q := query.Query{ID: "q", Prompt: query.Prompt{Text: "why?"}, Rubrics: []query.Rubric{{Text: "true", Weight: 2}}}
	b := parse("a:1 b=left", Marks{Epoch: 2}, Marks{Epoch: 5})
	for _, c := range []struct {
		r    Record
		want string
	}{
		{Record{Query: q, Buffer: b}, `{"query_id":"q","query":"why?","rubrics":[{"text":"true","weight":2}],"initial":2,"epochs_seen":[2,5],"anchors":[` +
			`{"text":"a","source":"ranked","epoch":0,"step":0,"inactive":1},{"text":"b","source":"left","epoch":0,"step":0,"inactive":0}]}`},
		{Record{Query: query.Query{ID: "n", Prompt: query.Prompt{Messages: []query.Message{{Role: "user", Content: "hi"}}}}},
			`{"query_id":"n","query":[{"role":"user","content":"hi"}],"rubrics":[],"initial":0,"epochs_seen":[],"anchors":[]}`},
	} {
		got, err := json.Marshal(c.r.View())
		if err != nil || string(got) != c.want {
			t.Errorf("got  %s, %v\nwant %s", got, err, c.want)
		}
	}
}
