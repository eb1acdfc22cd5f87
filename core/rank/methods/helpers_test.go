package methods

import (
	"testing"

	"github.com/rankbuffer/rankbuffer/core/rank"
	"github.com/rankbuffer/rankbuffer/tests/ranktest"
)

// What the tests use of ranktest, under short names.
type (
	oracle = ranktest.Oracle
	court  = ranktest.Court
)

var (
	text            = ranktest.Text
	qualityOf       = ranktest.QualityOf
	testQuery       = ranktest.Query
	score           = ranktest.Score
	responsesOf     = ranktest.Responses
	randomResponses = ranktest.RandomResponses
	mustJSON        = ranktest.JSON
	jitter          = ranktest.Jitter
	errDown         = ranktest.ErrDown
	ascending       = ranktest.Ascending
	qualityAt       = ranktest.QualityAt
	suiteSpec       = ranktest.Spec
	ofQualities     = ranktest.Qualities
	near            = ranktest.Near
	firstShown      = ranktest.FirstShown
	verdicts        = ranktest.Verdicts
	pairDown        = ranktest.PairDown
)

// method makes a registered method from options.
func method(t testing.TB, options string) rank.Method {
	t.Helper()
	m, err := New([]byte(options))
	if err != nil {
		t.Fatalf("New(%s): %v", options, err)
	}
	return m
}
