package main

/*
#include <stdlib.h>
#include <string.h>
#include "abi.h"
*/
import "C"

import (
	"fmt"
	"unicode/utf8"
	"unsafe"
)

// input copies a borrowed C string.
func input(p *C.char) []byte {
	n := C.strlen(p)
	text := make([]byte, n)
	copy(text, unsafe.Slice((*byte)(unsafe.Pointer(p)), n))
	return text
}

// text copies a borrowed C string that must be UTF-8; name is the argument's.
// Go's JSON decoder would quietly replace what is not.
func text(name string, p *C.char) ([]byte, error) {
	b := input(p)
	return b, checkUTF8(name, b)
}

func checkUTF8(name string, b []byte) error {
	if utf8.Valid(b) {
		return nil
	}
	at := 0
	for at < len(b) {
		r, size := utf8.DecodeRune(b[at:])
		if r == utf8.RuneError && size <= 1 {
			break
		}
		at += size
	}
	return fmt.Errorf("%w: %s: not UTF-8: byte 0x%02x at offset %d", errInvalid, name, b[at], at)
}

// output hands b to the caller, who frees it with rb_free.
func output(out **C.char, b []byte) {
	p := C.malloc(C.size_t(len(b) + 1)) // cgo's malloc never returns nil
	c := unsafe.Slice((*byte)(p), len(b)+1)
	copy(c, b)
	c[len(b)] = 0
	*out = (*C.char)(p)
}
