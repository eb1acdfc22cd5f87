package main

/*
#include "abi.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/rankbuffer/rankbuffer/core/engine"
)

// The codes of rankbuffer.h, for Go code and tests that cannot import "C".
const (
	codeOK         = int32(C.RB_OK)
	codeInvalid    = int32(C.RB_ERR_INVALID)
	codeHandle     = int32(C.RB_ERR_HANDLE)
	codeStale      = int32(C.RB_ERR_STALE)
	codeConflict   = int32(C.RB_ERR_CONFLICT)
	codeNotFound   = int32(C.RB_ERR_NOT_FOUND)
	codeBusy       = int32(C.RB_ERR_BUSY)
	codeIO         = int32(C.RB_ERR_IO)
	codeCheckpoint = int32(C.RB_ERR_CHECKPOINT)
	codePanic      = int32(C.RB_ERR_PANIC)
	codeJudge      = int32(C.RB_ERR_JUDGE)
	codeCancelled  = int32(C.RB_ERR_CANCELLED)
)

// version is the release the library was built as.
const version = C.RB_VERSION

// Errors of this package; the engine's carry codes of their own.
var (
	errInvalid = errors.New("invalid argument")
	errHandle  = errors.New("unknown or closed handle")
	errBusy    = errors.New("still in flight at the deadline")
	errIO      = errors.New("system error")
)

// panicError is a panic that was contained, with the stack it came from.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string {
	return fmt.Sprintf("internal error, please report it: %v\n%s", e.value, e.stack)
}

// codeOf maps any error of the package or of the engine to its code.
func codeOf(err error) int32 {
	var p *panicError
	switch {
	case err == nil:
		return codeOK
	case errors.As(err, &p):
		return codePanic
	case errors.Is(err, errInvalid):
		return codeInvalid
	case errors.Is(err, errHandle):
		return codeHandle
	case errors.Is(err, errBusy):
		return codeBusy
	case errors.Is(err, errIO):
		return codeIO
	default:
		return engine.CodeOf(err)
	}
}

// setError makes text the calling thread's rb_last_error. An export runs on the
// thread that called it, and so does the C function it calls.
func setError(code int32, text string) C.int32_t {
	bytes := append([]byte(text), 0)
	return C.abi_set_error(C.int32_t(code), (*C.char)(unsafe.Pointer(&bytes[0])), C.size_t(len(text)))
}
