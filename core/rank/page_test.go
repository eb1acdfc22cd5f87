package rank_test

import (
	"os"
	"strings"
	"testing"
)

// The example on the page is the one that is tested here.
func TestPageShowsTheExample(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "```")
	shown := 0
	for _, block := range blocks {
		if block, ok := strings.CutPrefix(block, "go\n"); ok {
			shown++
			if !strings.Contains(string(code), block) {
				t.Errorf("example_test.go does not hold this block of README.md:\n%s", block)
			}
		}
	}
	if shown != 2 {
		t.Errorf("README.md shows %d blocks of Go, want the method and its test", shown)
	}
}
