package main

/*
#include "abi.h"
*/
import "C"

import "context"

//export rbgo_score_submit
func rbgo_score_submit(handle C.rb_handle, group *C.char, out *C.rb_ticket) C.int32_t {
	return withScorer(handle, func(s *scorer) error {
		ticket, err := s.Submit(input(group))
		if err != nil {
			return err
		}
		*out = C.rb_ticket(ticket)
		return nil
	})
}

//export rbgo_cancel
func rbgo_cancel(handle C.rb_handle, ticket C.rb_ticket) C.int32_t {
	return withScorer(handle, func(s *scorer) error { return s.Cancel(uint64(ticket)) })
}

//export rbgo_event_fd
func rbgo_event_fd(handle C.rb_handle, out *C.int32_t) C.int32_t {
	return withScorer(handle, func(s *scorer) error {
		*out = C.int32_t(s.ready.number)
		return nil
	})
}

//export rbgo_poll
func rbgo_poll(handle C.rb_handle, out **C.char) C.int32_t {
	return withScorer(handle, func(s *scorer) error {
		output(out, s.poll())
		return nil
	})
}

//export rbgo_score_group
func rbgo_score_group(handle C.rb_handle, group *C.char, out **C.char) C.int32_t {
	return withScorer(handle, func(s *scorer) error {
		result, err := s.Score(context.Background(), input(group))
		if err != nil {
			return err
		}
		output(out, result)
		return nil
	})
}

//export rbgo_group_open
func rbgo_group_open(handle C.rb_handle, group *C.char, expected C.int32_t, out *C.rb_ticket) C.int32_t {
	return withScorer(handle, func(s *scorer) error {
		ticket, err := s.Open(input(group), int(expected))
		if err != nil {
			return err
		}
		*out = C.rb_ticket(ticket)
		return nil
	})
}

//export rbgo_group_add
func rbgo_group_add(handle C.rb_handle, ticket C.rb_ticket, index C.int32_t, response *C.char) C.int32_t {
	return withScorer(handle, func(s *scorer) error {
		return s.Add(uint64(ticket), int(index), input(response))
	})
}

//export rbgo_group_close
func rbgo_group_close(handle C.rb_handle, ticket C.rb_ticket) C.int32_t {
	return withScorer(handle, func(s *scorer) error { return s.CloseGroup(uint64(ticket)) })
}
