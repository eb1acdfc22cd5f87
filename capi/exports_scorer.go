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
	return give(out, func() (C.rb_handle, error) {
		e, err := engine.New(document("config", config))
		if err != nil {
			return 0, err
		}
		s, err := newScorer(e)
		if err != nil {
			return 0, err
		}
		return C.rb_handle(handles.add(s)), nil
	})
}

//export rbgo_check
func rbgo_check(doc *C.char) C.int32_t {
	return guard(func() error { return engine.CheckConfig(document("document", doc)) })
}

//export rbgo_prompt_template
func rbgo_prompt_template(kind *C.char, out **C.char) C.int32_t {
	return give(out, func() (*C.char, error) {
		template, err := engine.PromptTemplate(text("kind", kind))
		return output([]byte(template), err)
	})
}

//export rbgo_scorer_close
func rbgo_scorer_close(handle C.rb_handle, deadlineMS C.int64_t) C.int32_t {
	return shut[*scorer](handle, deadlineMS)
}

//export rbgo_stats
func rbgo_stats(handle C.rb_handle, out **C.char) C.int32_t {
	return ask(handle, out, func(s *scorer) ([]byte, error) { return s.Stats(), nil })
}

//export rbgo_judge_check
func rbgo_judge_check(handle C.rb_handle, deadlineMS C.int64_t) C.int32_t {
	return do(handle, func(s *scorer) error {
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
	return do(handle, func(s *scorer) error { return s.CreateBuffer(document("query", query)) })
}

//export rbgo_buffer_get
func rbgo_buffer_get(handle C.rb_handle, queryID *C.char, out **C.char) C.int32_t {
	return ask(handle, out, func(s *scorer) ([]byte, error) { return s.Buffer(text("query_id", queryID)) })
}

//export rbgo_rubrics_write
func rbgo_rubrics_write(handle C.rb_handle, query *C.char, out **C.char) C.int32_t {
	return ask(handle, out, func(s *scorer) ([]byte, error) {
		return s.Rubrics(context.Background(), document("query", query))
	})
}

//export rbgo_update
func rbgo_update(handle C.rb_handle, groupID *C.char) C.int32_t {
	return do(handle, func(s *scorer) error { return s.Update(text("group_id", groupID)) })
}
