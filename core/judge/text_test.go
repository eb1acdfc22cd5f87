package judge_test

import (
	"testing"
	"unicode/utf8"

	"github.com/rankbuffer/rankbuffer/core/judge"
)

// FuzzShorten: never longer than asked, always valid UTF-8.
func FuzzShorten(f *testing.F) {
	f.Add("h\xffé漢字🙂", 12)
	f.Fuzz(func(t *testing.T, text string, n int) {
		if n < 12 || n > 1<<16 {
			return
		}
		if got := judge.Shorten(text, n); len(got) > n || !utf8.ValidString(got) {
			t.Errorf("shorten(%q, %d) = %q", text, n, got)
		}
	})
}
