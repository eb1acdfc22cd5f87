package main

/*
#include "abi.h"
*/
import "C"

//export rbgo_sim_start
func rbgo_sim_start(config *C.char, out *C.rb_handle) C.int32_t {
	return guard(func() error {
		s, err := newSimulator(input(config))
		if err != nil {
			return err
		}
		*out = C.rb_handle(handles.add(s))
		return nil
	})
}

//export rbgo_sim_url
func rbgo_sim_url(handle C.rb_handle, out **C.char) C.int32_t {
	return withSimulator(handle, func(s *simulator) error {
		output(out, []byte(s.server.URL()))
		return nil
	})
}

//export rbgo_sim_stop
func rbgo_sim_stop(handle C.rb_handle, deadlineMS C.int64_t) C.int32_t {
	return shut[*simulator](handle, deadlineMS)
}
