package main

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/fault"
)

// Every code's status is one of the header's, and the other way round.
func TestHeaderAndFaultAgreeOnCodes(t *testing.T) {
	header, err := os.ReadFile("rankbuffer.h")
	if err != nil {
		t.Fatal(err)
	}
	named := map[int32]bool{fault.StatusOK: true}
	for _, found := range regexp.MustCompile(`RB_ERR_\w+ = (-\d+)`).FindAllSubmatch(header, -1) {
		status, err := strconv.Atoi(string(found[1]))
		if err != nil {
			t.Fatal(err)
		}
		named[int32(status)] = true
	}
	used := map[int32]bool{fault.StatusOK: true}
	for _, row := range fault.Rows {
		used[row.Status] = true
		if !named[row.Status] {
			t.Errorf("%s has the status %d, which the header does not name", row.Code, row.Status)
		}
	}
	for status := range named {
		if !used[status] {
			t.Errorf("the header names %d, which no code has", status)
		}
	}
}

// The C half refuses forks without Go: its JSON is written out there.
func TestTheErrorOfTheCHalfIsAFault(t *testing.T) {
	source, err := os.ReadFile("abi.c")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(source), `\"`, `"`)
	code := fault.Forked
	for _, part := range []string{`"code":"` + string(code) + `","status":` + strconv.Itoa(int(code.Status())), code.Summary()} {
		if !strings.Contains(text, part) {
			t.Errorf("abi.c does not say %s", part)
		}
	}
}

func TestCut(t *testing.T) {
	for in, want := range map[string]string{
		"short":                   "short",
		strings.Repeat("x", 4000): strings.Repeat("x", 4000),
		strings.Repeat("x", 4001): strings.Repeat("x", 3997) + "...",
		strings.Repeat("x", 3996) + "\u00e9\u00e9\u00e9": strings.Repeat("x", 3996) + "...",
	} {
		if got := cut(in); got != want {
			t.Errorf("cut(%d bytes) = %d bytes ending in %q", len(in), len(got), got[len(got)-9:])
		}
	}
}
