package main

/*
#include "abi.h"
*/
import "C"

import (
	"encoding/json"

	"github.com/rankbuffer/rankbuffer/core/engine"
)

// Paths are handed on byte for byte: the file system does not ask for UTF-8.

//export rbgo_snapshot
func rbgo_snapshot(handle C.rb_handle, path *C.char) C.int32_t {
	return withScorer(handle, func(s *scorer) error { return s.Snapshot(string(input(path))) })
}

//export rbgo_restore
func rbgo_restore(handle C.rb_handle, path *C.char) C.int32_t {
	return withScorer(handle, func(s *scorer) error { return s.Restore(string(input(path))) })
}

//export rbgo_journal
func rbgo_journal(handle C.rb_handle, path, snapshot *C.char) C.int32_t {
	return withScorer(handle, func(s *scorer) error { return s.Journal(optional(path), optional(snapshot)) })
}

func optional(path *C.char) string {
	if path == nil {
		return ""
	}
	return string(input(path))
}

//export rbgo_restore_from
func rbgo_restore_from(handle C.rb_handle, sources *C.char, out **C.char) C.int32_t {
	return withScorer(handle, func(s *scorer) error {
		found, err := s.RestoreFrom(input(sources))
		if err != nil {
			return err
		}
		b, err := json.Marshal(found)
		if err != nil {
			return err
		}
		output(out, b)
		return nil
	})
}

//export rbgo_inspect
func rbgo_inspect(path, queryID *C.char, out **C.char) C.int32_t {
	return guard(func() error {
		id := ""
		if queryID != nil {
			var err error
			if id, err = text("query_id", queryID); err != nil {
				return err
			}
		}
		b, err := engine.Inspect(string(input(path)), id)
		if err != nil {
			return err
		}
		output(out, b)
		return nil
	})
}
