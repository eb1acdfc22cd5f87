package judge_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/judgetest"
	"github.com/rankbuffer/rankbuffer/core/judge/ledger"
	"github.com/rankbuffer/rankbuffer/core/judge/options"
	"github.com/rankbuffer/rankbuffer/core/judge/stack"
	"github.com/rankbuffer/rankbuffer/core/judge/verdict"
	"github.com/rankbuffer/rankbuffer/core/prompt"
)

func position(r judge.Reply) (int, error) { return verdict.Position(r.Text, 4) }

type answer = judgetest.Answer

func said(text string) answer { return judgetest.Say(text) }

// cut is said, stopped at the token limit.
func cut(text string) answer {
	return answer{Reply: judge.Reply{Text: text, FinishReason: judge.FinishLength}}
}

func down(status int, retryable bool) answer {
	return answer{Err: &judge.Error{Failure: judge.Failed, Retryable: retryable, StatusCode: status,
		Err: fault.New(fault.JudgeServerError, "", "status %d", status)}}
}

// script is a stack over a judge that gives these answers in turn, the last one
// over and over.
func script(answers ...answer) (judge.Judge, *ledger.Ledger, *judgetest.Fake) {
	asked := 0
	fake := judgetest.New(func(context.Context, judge.Request) (judge.Reply, error) {
		a := answers[min(asked, len(answers)-1)]
		asked++
		return a.Reply, a.Err
	})
	j, books := stack.New(options.Judge{}, fake)
	return j, books, fake
}

func question(kind prompt.Kind) judge.Request {
	return judge.Request{Kind: kind, Messages: []prompt.Message{{Role: "system", Content: "rules"}, {Role: "user", Content: "question"}}}
}

func TestAsk(t *testing.T) {
	type ends struct{ tried, succeeded, retried, failed int }
	for _, tc := range []struct {
		name    string
		lines   []answer
		want    int
		failure judge.Failure
		wrong   string
		ends    ends
	}{
		{"good", []answer{said(`{"position": 2}`)}, 2, "", "", ends{1, 1, 0, 0}},
		{"malformed, then good", []answer{said(`about 2`), said(`{"position": 2}`)}, 2, "", "", ends{2, 1, 1, 0}},
		{"out of range, then good", []answer{said(`{"position": 7}`), said(`{"position": 2}`)}, 2, "", "", ends{2, 1, 1, 0}},
		{"malformed twice", []answer{said(`about 2`), said(`{"position": 9}`)}, 0, judge.Failed, "the judge was asked again after its first answer failed (the answer holds no usable verdict: no JSON object", ends{2, 0, 1, 1}},
		{"empty, then good at the retry", []answer{said(""), said(`{"position": 2}`)}, 2, "", "", ends{2, 1, 1, 0}},
		{"empty twice, then good at the re-ask", []answer{said(""), said(""), said(`{"position": 2}`)}, 2, "", "", ends{3, 1, 2, 0}},
		{"empty for ever", []answer{said("")}, 0, judge.Failed, "the answer is empty", ends{4, 0, 3, 1}},
		{"cut but complete", []answer{cut(`{"position": 2} because`)}, 2, "", "", ends{1, 1, 0, 0}},
		{"cut, then good", []answer{cut(`{"posit`), said(`{"position": 2}`)}, 2, "", "", ends{2, 1, 1, 0}},
		{"cut twice", []answer{cut(`<think>so`)}, 0, judge.Truncated, "judge.max_tokens", ends{2, 0, 1, 1}},
		{"cut while reasoning, both times", []answer{cut("")}, 0, judge.Truncated, "judge.max_tokens", ends{2, 0, 1, 1}},
		{"malformed, then refused", []answer{said("?"), down(400, false)}, 0, judge.Failed, "400", ends{2, 0, 1, 1}},
		{"malformed, then busy, then good", []answer{said("?"), down(503, true), said(`{"position": 2}`)}, 2, "", "", ends{3, 1, 2, 0}},
		{"refused", []answer{down(401, false)}, 0, judge.Failed, "401", ends{1, 0, 0, 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j, books, _ := script(tc.lines...)
				req := question(prompt.Coarse)
				req.Ledger = new(ledger.Ledger)
				got, err := judge.Ask(t.Context(), j, req, position)
				if got != tc.want || (err == nil) != (tc.wrong == "") || err != nil && !strings.Contains(err.Error(), tc.wrong) {
					t.Errorf("got %d, %v; want %d, %q", got, err, tc.want, tc.wrong)
				}
				if err != nil {
					if e := new(judge.Error); !errors.As(err, &e) || e.Failure != tc.failure {
						t.Errorf("got %v, want failure %s", err, tc.failure)
					}
				}
				for who, n := range map[string]ledger.Counts{"ledger": books.Report().Total, "the group's": req.Ledger.Report().Total} {
					if got := (ends{n.Tried, n.Succeeded, n.Retried, n.Failed}); got != tc.ends {
						t.Errorf("%s: %+v, want %+v", who, got, tc.ends)
					}
				}
			})
		})
	}
}

// TestReask looks at what is sent: the original messages, the bad answer and why.
func TestReask(t *testing.T) {
	long := "<think>hidden</think>" + strings.Repeat("漢", 2000) + ` {"position": 7}`
	j, _, fake := script(said(long), said(`{"position": 1}`))
	req := question(prompt.Coarse)
	seed, temperature := int64(5), 0.5
	req.Seed, req.TopLogProbs, req.Temperature = &seed, 2, &temperature
	if _, err := judge.Ask(t.Context(), j, req, position); err != nil {
		t.Fatal(err)
	}
	first, second := fake.Requests()[0], fake.Requests()[1]
	before, after := first.Messages, second.Messages
	if len(before) != 2 || len(after) != 4 || fmt.Sprint(after[:2]) != fmt.Sprint(before) {
		t.Fatalf("messages %v, then %v", before, after)
	}
	for i, role := range []string{"system", "user", "assistant", "user"} {
		if got := after[i].Role; got != role {
			t.Errorf("role %d is %v, want %s", i, got, role)
		}
	}
	answer := after[2].Content
	if len(answer) > 2000 || !strings.HasSuffix(answer, `{"position": 7}`) || strings.Contains(answer, "hidden") || strings.Contains(answer, "\uFFFD") {
		t.Errorf("the bad answer is shown as %q", answer)
	}
	if why := after[3].Content; !strings.Contains(why, `"position" is 7, which is not within 0..4`) {
		t.Errorf("the reason is %q", why)
	}
	first.Messages, second.Messages = nil, nil
	if !reflect.DeepEqual(first, second) {
		t.Errorf("asked %+v, then %+v", first, second)
	}
	if len(req.Messages) != 2 {
		t.Error("the caller's messages were changed")
	}
}

func TestAskAnyJudge(t *testing.T) {
	plain := errors.New("plain")
	for _, tc := range []struct {
		name    string
		judge   func(context.Context, judge.Request) (judge.Reply, error)
		parse   func(judge.Reply) (int, error)
		failure judge.Failure
		calls   int
	}{
		{"plain error", func(context.Context, judge.Request) (judge.Reply, error) { return judge.Reply{}, plain }, position, judge.Failed, 1},
		{"deadline", func(context.Context, judge.Request) (judge.Reply, error) {
			return judge.Reply{}, context.DeadlineExceeded
		}, position, judge.TimedOut, 1},
		{"wrapped error", func(context.Context, judge.Request) (judge.Reply, error) {
			return judge.Reply{}, fmt.Errorf("wrapped: %w", &judge.Error{Failure: judge.Cancelled, Err: plain})
		}, position, judge.Cancelled, 1},
		{"panic in the parser", func(context.Context, judge.Request) (judge.Reply, error) { return judge.Reply{Text: "x"}, nil },
			func(judge.Reply) (int, error) { panic("bug") }, judge.Failed, 2},
		{"no log-probabilities", func(context.Context, judge.Request) (judge.Reply, error) { return judge.Reply{Text: "A"}, nil },
			func(r judge.Reply) (int, error) { _, err := verdict.Preference(r); return 0, err }, judge.Failed, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			calls := 0
			_, err := judge.Ask(t.Context(), judgetest.New(func(ctx context.Context, req judge.Request) (judge.Reply, error) {
				calls++
				return tc.judge(ctx, req)
			}), question(prompt.Coarse), tc.parse)
			if e := new(judge.Error); !errors.As(err, &e) || e.Failure != tc.failure || calls != tc.calls {
				t.Errorf("%d calls, got %v; want %d, failure %s", calls, err, tc.calls, tc.failure)
			}
		})
	}
}
