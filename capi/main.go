// Package main is the C ABI of RankBuffer, built with -buildmode=c-shared.
//
// rankbuffer.h is the contract, written by hand. The rb_* functions it declares
// are C (abi.c): they refuse to run in a forked child, then call the Go exports
// rbgo_*, one for each. An export refuses NULL, copies its input, finds the handle,
// contains panics and reports errors (guard.go, memory.go). The work is the engine's.
package main

func main() {}
