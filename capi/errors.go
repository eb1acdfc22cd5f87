package main

/*
#include "abi.h"
*/
import "C"

import (
	"encoding/json"
	"strings"
	"unsafe"

	"github.com/rankbuffer/rankbuffer/core/fault"
)

// setError makes the error the calling thread's rb_last_error and returns its
// code. An export runs on the thread that called it, and so does the C function
// it calls.
func setError(err error) C.int32_t {
	told := fault.From(err).JSON()
	told.Message = cut(told.Message)
	text, err := json.Marshal(told)
	if err != nil { // strings and numbers only
		panic(err)
	}
	return C.abi_set_error(C.int32_t(told.Status), (*C.char)(unsafe.Pointer(&text[0])), C.size_t(len(text)))
}

// maxMessage bounds the text of an error, in bytes.
const maxMessage = 4000

// cut shortens a long text at a character's boundary.
func cut(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage-3], "") + "..."
}
