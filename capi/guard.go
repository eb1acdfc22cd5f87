package main

/*
#include "abi.h"
*/
import "C"

import (
	"runtime/debug"
	"time"
	"unsafe"

	"github.com/rankbuffer/rankbuffer/core/fault"
)

// handles holds every live handle of the process.
var handles = newTable()

// contain runs body and turns a panic into an error. Nothing that the ABI runs,
// on a caller's thread or on a goroutine, goes without it: a panic that escapes
// ends the host process. A panic with a *fault.Error is an argument that was
// refused.
func contain(body func() error) (err error) {
	defer func() {
		value := recover()
		if refused, ok := value.(*fault.Error); ok {
			err = refused
		} else if value != nil {
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

// give guards an export with an output. On an error the output is zero.
func give[V any](out *V, body func() (V, error)) C.int32_t {
	return guard(func() error {
		if out == nil {
			return null("out")
		}
		clear(unsafe.Slice(out, 1))
		value, err := body()
		if err == nil {
			*out = value
		}
		return err
	})
}

// do guards an export on a handle, which stays alive until body is done.
func do[T resource](handle C.rb_handle, body func(T) error) C.int32_t {
	return guard(func() error { return use(handles, uint64(handle), body) })
}

// of is do for an export with an output.
func of[T resource, V any](handle C.rb_handle, out *V, body func(T) (V, error)) C.int32_t {
	return give(out, func() (value V, err error) {
		err = use(handles, uint64(handle), func(r T) (err error) {
			value, err = body(r)
			return err
		})
		return value, err
	})
}

// ask is do for an export whose output is a text.
func ask[T resource](handle C.rb_handle, out **C.char, body func(T) ([]byte, error)) C.int32_t {
	return of(handle, out, func(r T) (*C.char, error) { return output(body(r)) })
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
