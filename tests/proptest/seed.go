// Package proptest is what property tests share.
package proptest

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// Seed is new for each run and printed; RB_SEED repeats one.
func Seed(t *testing.T) int64 {
	t.Helper()
	seed := time.Now().UnixNano()
	if s := os.Getenv("RB_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseInt(s, 10, 64); err != nil {
			t.Fatalf("RB_SEED: %v", err)
		}
	}
	t.Logf("seed %d (RB_SEED=%d repeats this run)", seed, seed)
	return seed
}
