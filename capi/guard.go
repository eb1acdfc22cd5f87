package main

/*
#include "abi.h"
*/
import "C"

import (
	"runtime/debug"
	"time"

	"github.com/rankbuffer/rankbuffer/core/fault"
)

// handles holds every live handle of the process.
var handles = newTable()

// contain runs body and turns a panic into an error. Nothing that the ABI runs,
// on a caller's thread or on a goroutine, goes without it: a panic that escapes
// ends the host process.
func contain(body func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fault.New(fault.Internal, "", "%v\n%s", value, debug.Stack())
		}
	}()
	return body()
}

// guard runs the body of an export and reports its error.
func guard(body func() error) C.int32_t {
	if err := contain(body); err != nil {
		return setError(err)
	}
	return C.RB_OK
}

// withScorer guards an export on a scorer, which stays alive until body is done.
func withScorer(handle C.rb_handle, body func(*scorer) error) C.int32_t {
	return guard(func() error { return use(handles, uint64(handle), body) })
}

// withSimulator is the same for a simulated judge.
func withSimulator(handle C.rb_handle, body func(*simulator) error) C.int32_t {
	return guard(func() error { return use(handles, uint64(handle), body) })
}

// shut guards the end of a handle of type T. A negative deadline is none.
func shut[T resource](handle C.rb_handle, deadlineMS C.int64_t) C.int32_t {
	return guard(func() error {
		return closeHandle[T](handles, uint64(handle), deadline(int64(deadlineMS)))
	})
}

// grace is what even a deadline of 0 allows: a handle with nothing in flight
// closes well within it.
const grace = 20 * time.Millisecond

// deadline reads a number of milliseconds; the result is negative for no
// deadline, and capped so that it cannot overflow.
func deadline(ms int64) time.Duration {
	const longest = 1 << 40 // about 35 years in milliseconds
	if ms < 0 {
		return -1
	}
	return max(time.Duration(min(ms, longest))*time.Millisecond, grace)
}
