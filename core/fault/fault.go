// Package fault is the one shape of every error that leaves the core: a code
// from one list, a summary that is safe to log, and the full text. Errors made
// with fmt.Errorf may wrap a *Error on their way up; From finds it again.
package fault

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Error is one failure. Err says what happened in full and may quote a judge, a
// policy or a file; Code, Field, File and Line never do.
type Error struct {
	Code  Code
	Field string // the field of the caller's document, as "method.rankbuffer.k0"; "" if none
	File  string // the file it is about; "" if none
	Line  int    // the line of File, from 1; 0 if unknown
	Err   error
}

// New makes an error about a field ("" for none). The format takes %w.
func New(code Code, field, format string, args ...any) *Error {
	return &Error{Code: code, Field: field, Err: fmt.Errorf(format, args...)}
}

// InFile makes an error about a file.
func InFile(code Code, file string, err error) *Error {
	return &Error{Code: code, File: file, Err: err}
}

// Or gives an error a code if nothing in its chain has one. A context that ended
// keeps its own.
func Or(code Code, err error) error {
	if err == nil || errors.As(err, new(*Error)) {
		return err
	}
	e := From(err)
	if e.Code == Internal {
		e.Code = code
	}
	return e
}

// In puts a field's parent in front of it: k0 within method.rankbuffer. An
// error without a code becomes InvalidValue.
func In(parent string, err error) error {
	if err == nil {
		return nil
	}
	e := new(Error)
	if !errors.As(err, &e) {
		return &Error{Code: InvalidValue, Field: parent, Err: err}
	}
	inner := *e
	switch {
	case inner.Field == "":
		inner.Field = parent
	case strings.HasPrefix(inner.Field, "["):
		inner.Field = parent + inner.Field
	default:
		inner.Field = parent + "." + inner.Field
	}
	return &inner
}

// Error is the full text: the file and line or the field, then what happened.
func (e *Error) Error() string {
	where := e.Field
	if e.File != "" {
		where = e.File
		if e.Line > 0 {
			where = fmt.Sprintf("%s:%d", e.File, e.Line)
		}
		if e.Field != "" {
			where += ": " + e.Field
		}
	}
	if where == "" {
		return e.Err.Error()
	}
	return where + ": " + e.Err.Error()
}

// Unwrap returns what the error was made from.
func (e *Error) Unwrap() error { return e.Err }

// Is matches a bare code: errors.Is(err, fault.StaleUpdate).
func (e *Error) Is(target error) bool {
	code, ok := target.(Code)
	return ok && e.Code == code
}

// From gives any error its code. The outermost *Error of its chain decides; one
// that has none is a cancelled or expired context, or Internal.
func From(err error) *Error {
	e := new(Error)
	if errors.As(err, &e) {
		if error(e) == err {
			return e
		}
		return &Error{Code: e.Code, Field: e.Field, File: e.File, Line: e.Line, Err: whole{err}}
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: GroupTimeout, Err: err}
	case errors.Is(err, context.Canceled):
		return &Error{Code: Cancelled, Err: err}
	}
	return &Error{Code: Internal, Err: err}
}

// whole is an error whose text already names field and file.
type whole struct{ error }

// JSON is an error as it crosses the C ABI, in rb_last_error and rb_poll.
type JSON struct {
	Code    Code   `json:"code"`
	Status  int32  `json:"status"`  // the return code of the C ABI
	Summary string `json:"summary"` // safe to log
	Message string `json:"message"` // the full text
	Field   string `json:"field,omitempty"`
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
}

// JSON describes the error for the other side of the C ABI.
func (e *Error) JSON() JSON {
	message := e.Error()
	if full, ok := e.Err.(whole); ok {
		message = full.Error()
	}
	return JSON{Code: e.Code, Status: e.Code.Status(), Summary: e.Summary(), Message: message,
		Field: e.Field, File: e.File, Line: e.Line}
}

// Summary is one sentence in our own words, with the field if there is one. It
// quotes nobody.
func (e *Error) Summary() string {
	if e.Field != "" {
		return e.Field + ": " + e.Code.Summary()
	}
	return e.Code.Summary()
}
