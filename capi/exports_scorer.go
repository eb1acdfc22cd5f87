package main

/*
#include "abi.h"
*/
import "C"

import (
	"context"

	"github.com/rankbuffer/rankbuffer/core/engine"
)

//export rbgo_handles_open
func rbgo_handles_open() C.int32_t { return C.int32_t(handles.open()) }

//export rbgo_scorer_new
func rbgo_scorer_new(config *C.char, out *C.rb_handle) C.int32_t {
	return guard(func() error {
		e, err := engine.New(input(config))
		if err != nil {
			return err
		}
		s, err := newScorer(e)
		if err != nil {
			return err
		}
		*out = C.rb_handle(handles.add(s))
		return nil
	})
}

//export rbgo_check
func rbgo_check(document *C.char) C.int32_t {
	return guard(func() error { return engine.CheckConfig(input(document)) })
}

//export rbgo_prompt_template
func rbgo_prompt_template(kind *C.char, out **C.char) C.int32_t {
	return guard(func() error {
		k, err := text("kind", kind)
		if err != nil {
			return err
		}
		template, err := engine.PromptTemplate(k)
		if err != nil {
			return err
		}
		output(out, []byte(template))
		return nil
	})
}

//export rbgo_scorer_close
func rbgo_scorer_close(handle C.rb_handle, deadlineMS C.int64_t) C.int32_t {
	return shut[*scorer](handle, deadlineMS)
}

//export rbgo_stats
func rbgo_stats(handle C.rb_handle, out **C.char) C.int32_t {
	return withScorer(handle, func(s *scorer) error {
		output(out, s.Stats())
		return nil
	})
}

//export rbgo_judge_check
func rbgo_judge_check(handle C.rb_handle, deadlineMS C.int64_t) C.int32_t {
	return withScorer(handle, func(s *scorer) error {
		ctx := context.Background()
		if d := deadline(int64(deadlineMS)); d >= 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, d)
			defer cancel()
		}
		return s.Check(ctx)
	})
}

//export rbgo_buffer_create
func rbgo_buffer_create(handle C.rb_handle, query *C.char) C.int32_t {
	return withScorer(handle, func(s *scorer) error {
		return s.CreateBuffer(input(query))
	})
}

//export rbgo_buffer_get
func rbgo_buffer_get(handle C.rb_handle, queryID *C.char, out **C.char) C.int32_t {
	return withScorer(handle, func(s *scorer) error {
		id, err := text("query_id", queryID)
		if err != nil {
			return err
		}
		b, err := s.Buffer(id)
		if err != nil {
			return err
		}
		output(out, b)
		return nil
	})
}

//export rbgo_rubrics_write
func rbgo_rubrics_write(handle C.rb_handle, query *C.char, out **C.char) C.int32_t {
	return withScorer(handle, func(s *scorer) error {
		b, err := s.Rubrics(context.Background(), input(query))
		if err != nil {
			return err
		}
		output(out, b)
		return nil
	})
}

//export rbgo_update
func rbgo_update(handle C.rb_handle, groupID *C.char) C.int32_t {
	return withScorer(handle, func(s *scorer) error {
		id, err := text("group_id", groupID)
		if err != nil {
			return err
		}
		return s.Update(id)
	})
}
