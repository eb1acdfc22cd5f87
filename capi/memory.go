package main

/*
#include <stdlib.h>
#include <string.h>
#include "abi.h"
*/
import "C"

import (
	"unsafe"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/strict"
)

// input copies a borrowed C string; nil for NULL.
func input(p *C.char) []byte {
	if p == nil {
		return nil
	}
	n := C.strlen(p)
	text := make([]byte, n)
	copy(text, unsafe.Slice((*byte)(unsafe.Pointer(p)), n))
	return text
}

func null(argument string) error {
	return fault.New(fault.InvalidArgument, argument, "must not be NULL")
}

// document copies a C string that must not be NULL; argument is its name. It
// panics with the error, which contain takes up.
func document(argument string, p *C.char) []byte {
	if p == nil {
		panic(null(argument))
	}
	return input(p)
}

// text is document for a text that is no JSON and must be UTF-8. The decoder of a
// JSON document names the field that is not.
func text(argument string, p *C.char) string {
	b := document(argument, p)
	if err := strict.CheckText(argument, b); err != nil {
		panic(err)
	}
	return string(b)
}

// output makes a text for the caller, who frees it with rb_free.
func output(b []byte, err error) (*C.char, error) {
	if err != nil {
		return nil, err
	}
	p := C.malloc(C.size_t(len(b) + 1)) // cgo's malloc never returns nil
	c := unsafe.Slice((*byte)(p), len(b)+1)
	copy(c, b)
	c[len(b)] = 0
	return (*C.char)(p), nil
}
