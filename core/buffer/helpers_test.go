package buffer

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// parse reads a buffer in the notation of show: anchors worst first, each
// text[=source][:inactive]; the source is ranked when not given.
func parse(s string, seen ...Marks) *Buffer {
	b := &Buffer{Anchors: []Anchor{}, Seen: seen}
	for _, f := range strings.Fields(s) {
		var a Anchor
		if i := strings.LastIndexByte(f, ':'); i >= 0 {
			a.Inactive, _ = strconv.Atoi(f[i+1:])
			f = f[:i]
		}
		var source string
		a.Text, source, _ = strings.Cut(f, "=")
		a.Source = Ranked
		if source != "" {
			a.Source = Source(source)
		}
		b.Anchors = append(b.Anchors, a)
	}
	b.Initial = len(b.Anchors)
	return b
}

func show(b *Buffer) string {
	var out []string
	for _, a := range b.Anchors {
		f := a.Text
		if a.Source != Ranked {
			f += "=" + string(a.Source)
		}
		if a.Inactive > 0 {
			f += ":" + strconv.Itoa(a.Inactive)
		}
		out = append(out, f)
	}
	return strings.Join(out, " ")
}

// showMarks writes each epoch seen as epoch[o][l][r].
func showMarks(b *Buffer) string {
	var out []string
	for _, m := range b.Seen {
		f := strconv.Itoa(m.Epoch)
		for _, flag := range []struct {
			set  bool
			name string
		}{{m.Observed, "o"}, {m.Left, "l"}, {m.Right, "r"}} {
			if flag.set {
				f += flag.name
			}
		}
		out = append(out, f)
	}
	return strings.Join(out, " ")
}

// split reads buckets: "|" between them, blanks between texts.
func split(s string) [][]string {
	var buckets [][]string
	for _, part := range strings.Split(s, "|") {
		buckets = append(buckets, strings.Fields(part))
	}
	return buckets
}

func mustUpdate(t *testing.T, b *Buffer, buckets [][]string, epoch, step int, o Options) *Buffer {
	t.Helper()
	next, err := b.Update(buckets, epoch, step, o)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// dump shows everything of a buffer but its pointer identity.
func dump(b *Buffer) string {
	if b == nil {
		return "nil"
	}
	return fmt.Sprintf("initial %d groups %d anchors %+v seen %+v pending %+v", b.Initial, b.Groups, b.Anchors, b.Seen, b.Pending)
}
