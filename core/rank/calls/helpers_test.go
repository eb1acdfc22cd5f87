package calls_test

import (
	"testing"

	"github.com/rankbuffer/rankbuffer/core/rank"
	"github.com/rankbuffer/rankbuffer/core/rank/methods"
	"github.com/rankbuffer/rankbuffer/tests/ranktest"
)

// What the tests use of ranktest, under short names.
type (
	oracle = ranktest.Oracle
	court  = ranktest.Court
)

var (
	score       = ranktest.Score
	ascending   = ranktest.Ascending
	suiteSpec   = ranktest.Spec
	ofQualities = ranktest.Qualities
	near        = ranktest.Near
	firstShown  = ranktest.FirstShown
	qualityOf   = ranktest.QualityOf
	errDown     = ranktest.ErrDown
)

// method makes a registered method from options.
func method(t testing.TB, options string) rank.Method {
	t.Helper()
	m, err := methods.New([]byte(options))
	if err != nil {
		t.Fatalf("New(%s): %v", options, err)
	}
	return m
}
