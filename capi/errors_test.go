package main

import (
	"fmt"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/engine"
)

// The engine puts codes into completions by itself: they must be the header's.
func TestEngineAndHeaderAgreeOnCodes(t *testing.T) {
	for _, tc := range []struct {
		err    error
		header int32
		engine int32
	}{
		{nil, codeOK, engine.CodeOK},
		{engine.ErrInvalid, codeInvalid, engine.CodeInvalid},
		{engine.ErrClosed, codeHandle, engine.CodeHandle},
		{engine.ErrUnknown, codeHandle, engine.CodeHandle},
		{engine.ErrEnded, codeHandle, engine.CodeHandle},
		{engine.ErrStale, codeStale, engine.CodeStale},
		{engine.ErrConflict, codeConflict, engine.CodeConflict},
		{engine.ErrNotFound, codeNotFound, engine.CodeNotFound},
		{engine.ErrBusy, codeBusy, engine.CodeBusy},
		{engine.ErrIO, codeIO, engine.CodeIO},
		{engine.ErrCheckpoint, codeCheckpoint, engine.CodeCheckpoint},
		{engine.ErrPanic, codePanic, engine.CodePanic},
		{engine.ErrJudge, codeJudge, engine.CodeJudge},
		{engine.ErrCancelled, codeCancelled, engine.CodeCancelled},
		{errInvalid, codeInvalid, engine.CodeInvalid},
		{errHandle, codeHandle, engine.CodeHandle},
		{errBusy, codeBusy, engine.CodeBusy},
		{errIO, codeIO, engine.CodeIO},
		{&panicError{}, codePanic, engine.CodePanic},
	} {
		err := tc.err
		if err != nil {
			err = fmt.Errorf("while doing something: %w", err)
		}
		if got := codeOf(err); got != tc.header || tc.engine != tc.header {
			t.Errorf("%v: code %d, engine's constant %d, header's %d", tc.err, got, tc.engine, tc.header)
		}
	}
}
