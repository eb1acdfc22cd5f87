package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/rankbuffer/rankbuffer/core/buffer"
	"github.com/rankbuffer/rankbuffer/core/checkpoint"
)

// Sentinel errors. Every error of this package wraps one of them.
var (
	ErrInvalid    = errors.New("invalid input")
	ErrClosed     = errors.New("scorer is closed")
	ErrUnknown    = errors.New("unknown ticket")
	ErrEnded      = errors.New("the group has ended")
	ErrBusy       = errors.New("busy")
	ErrIO         = errors.New("file error")
	ErrCheckpoint = errors.New("unusable checkpoint")
	ErrJudge      = errors.New("judge failed")
	ErrCancelled  = errors.New("cancelled")
	ErrPanic      = errors.New("internal error, please report it")
	ErrStale      = buffer.ErrStale
	ErrConflict   = buffer.ErrConflict
	ErrNotFound   = buffer.ErrNotFound
)

// Codes of the C ABI (capi/rankbuffer.h).
const (
	CodeOK         int32 = 0
	CodeInvalid    int32 = -1
	CodeHandle     int32 = -2
	CodeStale      int32 = -3
	CodeConflict   int32 = -4
	CodeNotFound   int32 = -5
	CodeBusy       int32 = -6
	CodeIO         int32 = -7
	CodeCheckpoint int32 = -8
	CodeForked     int32 = -9
	CodePanic      int32 = -10
	CodeJudge      int32 = -11
	CodeCancelled  int32 = -12
)

// codes maps sentinels to codes; the first match counts.
var codes = []struct {
	err  error
	code int32
}{
	{ErrClosed, CodeHandle}, {ErrUnknown, CodeHandle}, {ErrEnded, CodeHandle}, {ErrStale, CodeStale},
	{ErrConflict, CodeConflict}, {ErrNotFound, CodeNotFound}, {ErrBusy, CodeBusy},
	{ErrCheckpoint, CodeCheckpoint}, {ErrIO, CodeIO}, {ErrJudge, CodeJudge},
	{ErrCancelled, CodeCancelled}, {context.Canceled, CodeCancelled}, {ErrPanic, CodePanic},
}

// CodeOf maps an error to its code; what has no code of its own is bad input.
func CodeOf(err error) int32 {
	if err == nil {
		return CodeOK
	}
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	return CodeInvalid
}

// fileError sorts an error of core/checkpoint into one about the file's content
// or one about reaching it.
func fileError(err error) error {
	kind := ErrIO
	for _, content := range []error{checkpoint.ErrForeign, checkpoint.ErrNewer, checkpoint.ErrTruncated, checkpoint.ErrCorrupt, checkpoint.ErrRecord} {
		if errors.Is(err, content) {
			kind = ErrCheckpoint
		}
	}
	if errors.Is(err, checkpoint.ErrNotFound) {
		kind = ErrNotFound
	}
	return fmt.Errorf("%w: %w", kind, err)
}
