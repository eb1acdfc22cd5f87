package ledger

import (
	"testing"

	"github.com/rankbuffer/rankbuffer/core/prompt"
)

func TestNilLedger(t *testing.T) {
	var l *Ledger
	l.Book(Attempt{Kind: prompt.Fine, Usage: Usage{Prompt: 1}}, Succeeded)
	if len(l.Calls()) != 0 || l.Usage() != (Usage{}) || l.Report().Total != (Counts{}) {
		t.Error("a nil ledger recorded something")
	}
}
