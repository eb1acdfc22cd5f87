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
	return do(handle, func(s *scorer) error { return s.Snapshot(string(document("path", path))) })
}

//export rbgo_restore
func rbgo_restore(handle C.rb_handle, path *C.char) C.int32_t {
	return do(handle, func(s *scorer) error { return s.Restore(string(document("path", path))) })
}

//export rbgo_journal
func rbgo_journal(handle C.rb_handle, path, snapshot *C.char) C.int32_t {
	return do(handle, func(s *scorer) error { return s.Journal(string(input(path)), string(input(snapshot))) })
}

//export rbgo_restore_from
func rbgo_restore_from(handle C.rb_handle, sources *C.char, out **C.char) C.int32_t {
	return ask(handle, out, func(s *scorer) ([]byte, error) {
		found, err := s.RestoreFrom(document("sources", sources))
		if err != nil {
			return nil, err
		}
		return json.Marshal(found)
	})
}

//export rbgo_inspect
func rbgo_inspect(path, queryID *C.char, out **C.char) C.int32_t {
	return give(out, func() (*C.char, error) {
		id := ""
		if queryID != nil {
			id = text("query_id", queryID)
		}
		return output(engine.Inspect(string(document("path", path)), id))
	})
}
