package main

/*
#include <stdlib.h>
#include <string.h>
#include "abi.h"
*/
import "C"

import (
	"unsafe"

	"github.com/rankbuffer/rankbuffer/core/strict"
)

// input copies a borrowed C string.
func input(p *C.char) []byte {
	n := C.strlen(p)
	text := make([]byte, n)
	copy(text, unsafe.Slice((*byte)(unsafe.Pointer(p)), n))
	return text
}

// text copies a borrowed C string that must be UTF-8; name is the argument's. JSON
// is taken as input: its decoder names the field that is not.
func text(name string, p *C.char) (string, error) {
	b := input(p)
	return string(b), strict.CheckText(name, b)
}

// output hands b to the caller, who frees it with rb_free.
func output(out **C.char, b []byte) {
	p := C.malloc(C.size_t(len(b) + 1)) // cgo's malloc never returns nil
	c := unsafe.Slice((*byte)(p), len(b)+1)
	copy(c, b)
	c[len(b)] = 0
	*out = (*C.char)(p)
}
