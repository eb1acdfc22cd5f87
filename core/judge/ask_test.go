package judge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rankbuffer/rankbuffer/core/prompt"
)

func position(r Reply) (int, error) { return ParsePosition(r.Text, 4) }

// cut is said, stopped at the token limit.
func cut(text string) line {
	l := said(text)
	l.body = strings.Replace(l.body, `"stop"`, `"length"`, 1)
	return l
}

func TestAsk(t *testing.T) {
	type ends struct{ tried, succeeded, retried, failed int }
	for _, tc := range []struct {
		name    string
		lines   []line
		want    int
		failure Failure
		wrong   string
		ends    ends
	}{
		{"good", []line{said(`{"position": 2}`)}, 2, "", "", ends{1, 1, 0, 0}},
		{"malformed, then good", []line{said(`about 2`), said(`{"position": 2}`)}, 2, "", "", ends{2, 1, 1, 0}},
		{"out of range, then good", []line{said(`{"position": 7}`), said(`{"position": 2}`)}, 2, "", "", ends{2, 1, 1, 0}},
		{"malformed twice", []line{said(`about 2`), said(`{"position": 9}`)}, 0, Failed, "coarse: asked again after: unusable answer: no JSON object", ends{2, 0, 1, 1}},
		{"empty, then good at the retry", []line{said(""), said(`{"position": 2}`)}, 2, "", "", ends{2, 1, 1, 0}},
		{"empty twice, then good at the re-ask", []line{said(""), said(""), said(`{"position": 2}`)}, 2, "", "", ends{3, 1, 2, 0}},
		{"empty for ever", []line{said("")}, 0, Failed, "the answer is empty", ends{4, 0, 3, 1}},
		{"cut but complete", []line{cut(`{"position": 2} because`)}, 2, "", "", ends{1, 1, 0, 0}},
		{"cut, then good", []line{cut(`{"posit`), said(`{"position": 2}`)}, 2, "", "", ends{2, 1, 1, 0}},
		{"cut twice", []line{cut(`<think>so`)}, 0, Truncated, "judge.max_tokens", ends{2, 0, 1, 1}},
		{"cut while reasoning, both times", []line{cut("")}, 0, Truncated, "judge.max_tokens", ends{2, 0, 1, 1}},
		{"malformed, then refused", []line{said("?"), {status: 400, body: "no"}}, 0, Failed, "400", ends{2, 0, 1, 1}},
		{"malformed, then busy, then good", []line{said("?"), {status: 503}, said(`{"position": 2}`)}, 2, "", "", ends{3, 1, 2, 0}},
		{"refused", []line{{status: 401}}, 0, Failed, "401", ends{1, 0, 0, 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j, ledger, _ := build(t, config(), tc.lines...)
				req := ask(prompt.Coarse)
				req.Tally = new(Tally)
				got, err := Ask(t.Context(), j, req, position)
				check(t, got, tc.want, err, tc.wrong)
				if err != nil {
					if e := new(Error); !errors.As(err, &e) || e.Failure != tc.failure {
						t.Errorf("got %v, want failure %s", err, tc.failure)
					}
				}
				for who, n := range map[string]Counts{"ledger": ledger.Report().Total, "tally": req.Tally.Counts()[prompt.Coarse]} {
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
	j, _, s := build(t, config(), said(long), said(`{"position": 1}`))
	req := ask(prompt.Coarse)
	req.Seed, req.TopLogProbs = ptr(int64(5)), 2
	if _, err := Ask(t.Context(), j, req, position); err != nil {
		t.Fatal(err)
	}
	first, second := body(t, s.bodies[0]), body(t, s.bodies[1])
	before, after := first["messages"].([]any), second["messages"].([]any)
	if len(before) != 2 || len(after) != 4 || fmt.Sprint(after[:2]) != fmt.Sprint(before) {
		t.Fatalf("messages %v, then %v", before, after)
	}
	for i, role := range []string{"system", "user", "assistant", "user"} {
		if got := after[i].(map[string]any)["role"]; got != role {
			t.Errorf("role %d is %v, want %s", i, got, role)
		}
	}
	answer := after[2].(map[string]any)["content"].(string)
	if len(answer) > maxQuoted || !strings.HasSuffix(answer, `{"position": 7}`) || strings.Contains(answer, "hidden") || strings.Contains(answer, "\uFFFD") {
		t.Errorf("the bad answer is shown as %q", answer)
	}
	if why := after[3].(map[string]any)["content"].(string); !strings.Contains(why, `"position" is 7, which is not within 0..4`) {
		t.Errorf("the reason is %q", why)
	}
	for _, key := range []string{"seed", "top_logprobs", "logprobs", "temperature"} {
		if first[key] != second[key] || first[key] == nil {
			t.Errorf("%s is %v, then %v", key, first[key], second[key])
		}
	}
	if len(req.Messages) != 2 {
		t.Error("the caller's messages were changed")
	}
}

func TestAskAnyJudge(t *testing.T) {
	plain := errors.New("plain")
	for _, tc := range []struct {
		name    string
		judge   judgeFunc
		parse   func(Reply) (int, error)
		failure Failure
		calls   int
	}{
		{"plain error", func(context.Context, Request) (Reply, error) { return Reply{}, plain }, position, Failed, 1},
		{"deadline", func(context.Context, Request) (Reply, error) { return Reply{}, context.DeadlineExceeded }, position, TimedOut, 1},
		{"wrapped error", func(context.Context, Request) (Reply, error) {
			return Reply{}, fmt.Errorf("wrapped: %w", &Error{Failure: Cancelled, Err: plain})
		}, position, Cancelled, 1},
		{"panic in the parser", func(context.Context, Request) (Reply, error) { return Reply{Text: "x"}, nil },
			func(Reply) (int, error) { panic("bug") }, Failed, 2},
		{"no log-probabilities", func(context.Context, Request) (Reply, error) { return Reply{Text: "A"}, nil },
			func(r Reply) (int, error) { _, err := ParsePreference(r); return 0, err }, Failed, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			calls := 0
			_, err := Ask(t.Context(), judgeFunc(func(ctx context.Context, req Request) (Reply, error) {
				calls++
				return tc.judge(ctx, req)
			}), ask(prompt.Coarse), tc.parse)
			if e := new(Error); !errors.As(err, &e) || e.Failure != tc.failure || calls != tc.calls {
				t.Errorf("%d calls, got %v; want %d, failure %s", calls, err, tc.calls, tc.failure)
			}
		})
	}
}
