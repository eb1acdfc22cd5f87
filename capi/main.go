// Package main is the C ABI of RankBuffer, built with -buildmode=c-shared.
//
// rankbuffer.h is the contract, written by hand. The rb_* functions it declares
// are C (abi.c): they refuse forked children and NULL, then call the Go exports
// rbgo_*, one for each. An export copies its input, runs under guard, which
// finds the handle, contains panics and maps errors to codes, and does no work
// of its own beyond that: the work is the engine's.
package main

func main() {}
