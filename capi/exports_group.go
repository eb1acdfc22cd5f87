package main

/*
#include "abi.h"
*/
import "C"

import "context"

//export rbgo_score_submit
func rbgo_score_submit(handle C.rb_handle, group *C.char, out *C.rb_ticket) C.int32_t {
	return of(handle, out, func(s *scorer) (C.rb_ticket, error) {
		ticket, err := s.Submit(document("group", group))
		return C.rb_ticket(ticket), err
	})
}

//export rbgo_cancel
func rbgo_cancel(handle C.rb_handle, ticket C.rb_ticket) C.int32_t {
	return do(handle, func(s *scorer) error { return s.Cancel(uint64(ticket)) })
}

//export rbgo_event_fd
func rbgo_event_fd(handle C.rb_handle, out *C.int32_t) C.int32_t {
	return of(handle, out, func(s *scorer) (C.int32_t, error) { return C.int32_t(s.ready.number), nil })
}

//export rbgo_poll
func rbgo_poll(handle C.rb_handle, out **C.char) C.int32_t {
	return ask(handle, out, func(s *scorer) ([]byte, error) { return s.poll(), nil })
}

//export rbgo_score_group
func rbgo_score_group(handle C.rb_handle, group *C.char, out **C.char) C.int32_t {
	return ask(handle, out, func(s *scorer) ([]byte, error) {
		return s.Score(context.Background(), document("group", group))
	})
}

//export rbgo_group_open
func rbgo_group_open(handle C.rb_handle, group *C.char, expected C.int32_t, out *C.rb_ticket) C.int32_t {
	return of(handle, out, func(s *scorer) (C.rb_ticket, error) {
		ticket, err := s.Open(document("group", group), int(expected))
		return C.rb_ticket(ticket), err
	})
}

//export rbgo_group_add
func rbgo_group_add(handle C.rb_handle, ticket C.rb_ticket, index C.int32_t, response *C.char) C.int32_t {
	return do(handle, func(s *scorer) error {
		return s.Add(uint64(ticket), int(index), document("response", response))
	})
}

//export rbgo_group_close
func rbgo_group_close(handle C.rb_handle, ticket C.rb_ticket) C.int32_t {
	return do(handle, func(s *scorer) error { return s.CloseGroup(uint64(ticket)) })
}
