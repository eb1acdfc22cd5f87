package judgetest_test

import (
	"errors"
	"testing"

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
