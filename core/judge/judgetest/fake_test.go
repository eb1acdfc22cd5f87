package judgetest_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/judgetest"
	"github.com/rankbuffer/rankbuffer/core/prompt"
)

func TestScript(t *testing.T) {
	broken := errors.New("broken")
	f := judgetest.Script(map[prompt.Kind][]judgetest.Answer{
		prompt.Fine: {judgetest.Say("a"), {Err: broken}}, prompt.Pair: {judgetest.Say("b")}})
	ask := func(kind prompt.Kind) (string, error) {
		reply, err := f.Judge(t.Context(), judge.Request{Kind: kind})
		return reply.Text, err
	}
	if text, err := ask(prompt.Fine); text != "a" || err != nil {
		t.Errorf("first: %q, %v", text, err)
	}
	if text, err := ask(prompt.Pair); text != "b" || err != nil {
		t.Errorf("other kind: %q, %v", text, err)
	}
	if _, err := ask(prompt.Fine); !errors.Is(err, broken) {
		t.Errorf("second: %v", err)
	}
	if _, err := ask(prompt.Fine); judge.FailureOf(err) != judge.Failed || errors.Is(err, broken) {
		t.Errorf("beyond the script: %v", err)
	}
	if got := f.Requests(); len(got) != 4 || got[1].Kind != prompt.Pair {
		t.Errorf("requests %v", got)
	}
}

func TestTexts(t *testing.T) {
	f := judgetest.Texts(map[prompt.Kind]string{prompt.Fine: "a"})
	for range 2 {
		if reply, err := f.Judge(t.Context(), judge.Request{Kind: prompt.Fine}); reply.Text != "a" || err != nil {
			t.Errorf("got %q, %v", reply.Text, err)
		}
	}
	if _, err := f.Judge(t.Context(), judge.Request{Kind: prompt.Pair}); err == nil {
		t.Error("an answer to a kind that has none")
	}
	if err := f.Close(); err != nil || !f.Closed() {
		t.Errorf("closed %v, %v", f.Closed(), err)
	}
}

func TestPeak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := judgetest.New(func(context.Context, judge.Request) (judge.Reply, error) {
			time.Sleep(time.Second)
			return judge.Reply{}, nil
		})
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 600 * time.Millisecond)
				_, _ = f.Judge(t.Context(), judge.Request{})
			})
		}
		wg.Wait()
		if f.Peak() != 2 {
			t.Errorf("peak %d, want 2", f.Peak())
		}
	})
}
