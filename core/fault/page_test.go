package fault

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// README.md lists every code with its number, its summary and what to do, in the
// order of Rows.
func TestPageListsEveryCode(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "## The codes\n\n| code | number | summary | what to do |\n| --- | --- | --- | --- |\n")
	if !found {
		t.Fatal("no table of codes")
	}
	lines := strings.Split(strings.TrimSpace(table), "\n")
	if len(lines) != len(Rows) {
		t.Errorf("%d codes on the page, %d in Rows", len(lines), len(Rows))
	}
	for i, row := range Rows {
		want := fmt.Sprintf("| `%s` | %d | %s | ", row.Code, row.Status, row.Summary)
		if i >= len(lines) || !strings.HasPrefix(lines[i], want) {
			t.Errorf("no line in the place of %q", want)
			continue
		}
		if advice := strings.TrimSuffix(strings.TrimPrefix(lines[i], want), " |"); !strings.HasSuffix(advice, ".") {
			t.Errorf("%s: the page does not say in whole sentences what to do: %q", row.Code, advice)
		}
	}
}

func TestEveryCodeIsListedOnce(t *testing.T) {
	for _, row := range Rows {
		if row.Status >= StatusOK || row.Summary == "" {
			t.Errorf("%s has the status %d and the summary %q", row.Code, row.Status, row.Summary)
		}
	}
	if len(byCode) != len(Rows) {
		t.Errorf("%d codes, %d of them different", len(Rows), len(byCode))
	}
}

// The page names the return codes as the C header does.
func TestPageNamesReturnCodes(t *testing.T) {
	header, err := os.ReadFile("../../capi/rankbuffer.h")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, named := range regexp.MustCompile(`(RB_ERR_\w+) = (-\d+)`).FindAllStringSubmatch(string(header), -1) {
		if want := fmt.Sprintf("\n| %s | `%s` | ", named[2], named[1]); !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
