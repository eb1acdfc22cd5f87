package main

/*
#include "abi.h"
*/
import "C"

//export rbgo_sim_start
func rbgo_sim_start(config *C.char, out *C.rb_handle) C.int32_t {
	return give(out, func() (C.rb_handle, error) {
		s, err := newSimulator(document("config", config))
		if err != nil {
			return 0, err
		}
		return C.rb_handle(handles.add(s)), nil
	})
}

//export rbgo_sim_url
func rbgo_sim_url(handle C.rb_handle, out **C.char) C.int32_t {
	return ask(handle, out, func(s *simulator) ([]byte, error) { return []byte(s.server.URL()), nil })
}

//export rbgo_sim_stop
func rbgo_sim_stop(handle C.rb_handle, deadlineMS C.int64_t) C.int32_t {
	return shut[*simulator](handle, deadlineMS)
}
