package openai

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/ledger"
	"github.com/rankbuffer/rankbuffer/core/prompt"
)

func TestRetryPolicy(t *testing.T) {
	for _, tc := range []struct {
		name    string
		line    line
		tries   int
		failure judge.Failure
		is      fault.Code
	}{
		{"ok", said("yes"), 1, "", ""},
		{"network", line{err: syscall.ECONNREFUSED}, 4, judge.Failed, fault.JudgeUnreachable},
		{"connection lost", line{err: io.ErrUnexpectedEOF}, 4, judge.Failed, fault.JudgeUnreachable},
		{"certificate", line{err: &tls.CertificateVerificationError{Err: errors.New("expired")}}, 1, judge.Failed, fault.JudgeUnreachable},
		{"408", line{status: 408}, 4, judge.Failed, fault.JudgeServerError},
		{"429", line{status: 429}, 4, judge.Failed, fault.JudgeRateLimited},
		{"429 without quota", line{status: 429, body: `{"error": {"message": "pay", "code": "insufficient_quota"}}`}, 1, judge.Failed, fault.JudgeNoQuota},
		{"500", line{status: 500}, 4, judge.Failed, fault.JudgeServerError},
		{"502", line{status: 502}, 4, judge.Failed, fault.JudgeServerError},
		{"503", line{status: 503}, 4, judge.Failed, fault.JudgeServerError},
		{"504", line{status: 504}, 4, judge.Failed, fault.JudgeServerError},
		{"529", line{status: 529}, 4, judge.Failed, fault.JudgeServerError},
		{"301", line{status: 301, header: "Location: http://elsewhere/"}, 1, judge.Failed, fault.JudgeWrongAddress},
		{"400", line{status: 400}, 1, judge.Failed, fault.JudgeRejected},
		{"401", line{status: 401}, 1, judge.Failed, fault.JudgeUnauthorized},
		{"403", line{status: 403}, 1, judge.Failed, fault.JudgeUnauthorized},
		{"404", line{status: 404}, 1, judge.Failed, fault.JudgeWrongAddress},
		{"404 model", line{status: 404, body: `{"error": {"message": "The model does not exist."}}`}, 1, judge.Failed, fault.JudgeModelNotFound},
		{"409", line{status: 409}, 1, judge.Failed, fault.JudgeRejected},
		{"413 overflow", line{status: 413, body: `{"detail": "longer than the maximum model length"}`}, 1, judge.Failed, fault.JudgeContextOverflow},
		{"422", line{status: 422}, 1, judge.Failed, fault.JudgeRejected},
		{"empty, asked once more", said(" \n"), 2, judge.Failed, fault.JudgeEmpty},
		{"no choices", line{status: 200, body: `{"choices": []}`}, 2, judge.Failed, fault.JudgeEmpty},
		{"all tokens used up", line{status: 200, body: `{"choices": [{"message": {"content": null}, "finish_reason": "length"}]}`}, 1, judge.Truncated, fault.JudgeTruncated},
		{"filtered", line{status: 200, body: `{"choices": [{"message": {"content": ""}, "finish_reason": "content_filter"}]}`}, 1, judge.Failed, fault.JudgeRefused},
		{"refused", line{status: 200, body: `{"choices": [{"message": {"content": null, "refusal": "no"}}]}`}, 1, judge.Failed, fault.JudgeRefused},
		{"not a completion", line{status: 200, body: `<html>`}, 1, judge.Failed, fault.JudgeBadResponse},
		{"error with status 200", line{status: 200, body: `{"error": {"message": "busy", "code": 503}}`}, 4, judge.Failed, fault.JudgeServerError},
		{"client error with status 200", line{status: 200, body: `{"error": {"message": "bad", "code": 400}}`}, 1, judge.Failed, fault.JudgeRejected},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j, books, s := build(t, config(), tc.line)
				tally := new(ledger.Ledger)
				req := ask(prompt.Coarse)
				req.Ledger = tally
				_, err := j.Judge(t.Context(), req)
				if s.tries() != tc.tries {
					t.Errorf("tried %d times, want %d (%v)", s.tries(), tc.tries, err)
				}
				got := books.Report().Total
				want := ledger.Counts{Tried: tc.tries, Retried: tc.tries - 1, Failed: 1, Tokens: got.Tokens}
				if tc.failure == "" {
					want.Succeeded, want.Failed = 1, 0
				}
				if got != want {
					t.Errorf("ledger %+v, want %+v", got, want)
				}
				if n := tally.Report().Total; n != want {
					t.Errorf("tally %+v, want %+v", n, want)
				}
				if tc.failure == "" {
					if err != nil {
						t.Error(err)
					}
					return
				}
				var e *judge.Error
				if !errors.As(err, &e) || e.Failure != tc.failure {
					t.Errorf("got %v, want a failure %s", err, tc.failure)
				}
				f := fault.From(err)
				if f.Code != tc.is || strings.Contains(f.Summary(), "host") || strings.HasPrefix(f.Error(), "judge: ") {
					t.Errorf("got %s (%s): %v, want %s", f.Code, f.Summary(), err, tc.is)
				}
			})
		})
	}
}

// TestBackoff: doubled each time, spread over the upper half, bounded.
func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		cfg.MaxRetries, cfg.Backoff, cfg.BackoffMax = ptr(6), 1, 10
		var at []time.Time
		j, _ := over(t, cfg, doerFunc(func(*http.Request, string) (*http.Response, error) {
			at = append(at, time.Now())
			return line{status: 500}.response()
		}))
		if _, err := j.Judge(t.Context(), ask(prompt.Fine)); err == nil {
			t.Fatal("no error")
		}
		for i, most := range []time.Duration{1, 2, 4, 8, 10, 10} {
			most *= time.Second
			if got := at[i+1].Sub(at[i]); got < most/2 || got > most {
				t.Errorf("wait %d: %v, want within %v..%v", i, got, most/2, most)
			}
		}
	})
}

func TestRetryAfter(t *testing.T) {
	for _, tc := range []struct {
		name, value string
		date        time.Duration // if not 0, the value is the date this far from now
		want        time.Duration // between the two attempts; 0: the backoff, below 1 s
	}{
		{"Retry-After", "7", 0, 7 * time.Second},
		{"Retry-After", " 2.5 ", 0, 2500 * time.Millisecond},
		{"Retry-After-Ms", "1500", 0, 1500 * time.Millisecond},
		{"Retry-After", "", time.Hour, time.Hour},
		{"Retry-After", "", -time.Hour, 0},
		{"Retry-After", "soon", 0, 0},
		{"Retry-After", "-5", 0, 0},
		{"Retry-After", "NaN", 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			if tc.date != 0 {
				tc.value = time.Now().Add(tc.date).UTC().Format(http.TimeFormat)
			}
			j, _, s := build(t, config(), line{status: 429, header: tc.name + ": " + tc.value}, said("yes"))
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
			defer cancel()
			start := time.Now()
			_, err := j.Judge(ctx, ask(prompt.Fine))
			took := time.Since(start)
			if err != nil || s.tries() != 2 {
				t.Fatalf("%q: %d tries, %v", tc.value, s.tries(), err)
			}
			if tc.want > 0 && took != tc.want || tc.want == 0 && took > time.Second {
				t.Errorf("%s %q: waited %v, want %v", tc.name, tc.value, took, tc.want)
			}
		})
	}
}

// TestRetryAfterBeyondTheTimeLeft: a wait that leaves no time to ask is not begun.
func TestRetryAfterBeyondTheTimeLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tc := range []struct {
			left time.Duration // 0: no deadline
			ask  string
		}{{time.Minute, "61"}, {0, "601"}, {0, "1e300"}} {
			j, books, s := build(t, config(), line{status: 429, header: "Retry-After: " + tc.ask})
			ctx, cancel := t.Context(), func() {}
			if tc.left > 0 {
				ctx, cancel = context.WithTimeout(ctx, tc.left)
			}
			start := time.Now()
			_, err := j.Judge(ctx, ask(prompt.Fine))
			cancel()
			if judge.FailureOf(err) != judge.Failed || s.tries() != 1 || time.Since(start) != 0 {
				t.Errorf("%s s asked, %v left: %d tries in %v: %v", tc.ask, tc.left, s.tries(), time.Since(start), err)
			}
			if got := books.Report().Total; got.Failed != 1 || got.Retried != 0 {
				t.Errorf("ledger %+v", got)
			}
		}
	})
}

func TestStopsWhileWaitingToRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, books, _ := build(t, config(), line{status: 429, header: "Retry-After: 60"})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		_, err := j.Judge(ctx, ask(prompt.Fine))
		if judge.FailureOf(err) != judge.Cancelled || !errors.Is(err, context.Canceled) || time.Since(start) != time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		if got := books.Report().Total; got.Tried != 1 || got.Failed != 1 {
			t.Errorf("ledger %+v", got)
		}
	})
}

// TestTimeouts: the call's own time is for one attempt, the context's for all.
func TestTimeouts(t *testing.T) {
	hang := doerFunc(func(req *http.Request, _ string) (*http.Response, error) {
		<-req.Context().Done()
		return nil, req.Context().Err()
	})
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		cfg.Timeout, cfg.MaxRetries, cfg.Backoff = 2, ptr(1), 1
		j, books := over(t, cfg, hang)
		start := time.Now()
		_, err := j.Judge(t.Context(), ask(prompt.Fine))
		check(t, nil, nil, err, "judge.timeout: no answer within 2s")
		if took := time.Since(start); judge.FailureOf(err) != judge.TimedOut || took < 4500*time.Millisecond || took > 5*time.Second {
			t.Errorf("after %v: %v", took, err)
		}
		if got := books.Report().Total; got.Tried != 2 || got.Retried != 1 || got.Failed != 1 {
			t.Errorf("ledger %+v", got)
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		_, err = j.Judge(ctx, ask(prompt.Fine))
		check(t, nil, nil, err, "group's time")
		if judge.FailureOf(err) != judge.TimedOut || time.Since(start) != time.Second {
			t.Errorf("after %v: %v", time.Since(start), err)
		}

		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err = j.Judge(ctx, ask(prompt.Fine)); judge.FailureOf(err) != judge.Cancelled {
			t.Errorf("got %v, want a cancellation", err)
		}
	})
}
