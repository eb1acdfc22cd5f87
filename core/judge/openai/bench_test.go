package openai

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/verdict"
	"github.com/rankbuffer/rankbuffer/core/prompt"
)

// discard reads a request as a connection would, and answers.
type discard struct{ line }

func (d discard) Do(req *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, req.Body); err != nil {
		return nil, err
	}
	return d.response()
}

// BenchmarkCall is the CPU of one call with a 30 KB prompt, without the network.
func BenchmarkCall(b *testing.B) {
	cfg := config()
	cfg.ExtraBody = map[string]json.RawMessage{"chat_template_kwargs": []byte(`{"enable_thinking": false}`)}
	answer := said(`{"position": 2}`)
	j, _ := over(b, cfg, discard{answer})
	req := judge.Request{Kind: prompt.Coarse, Messages: []prompt.Message{{Role: "system", Content: "rules"},
		{Role: "user", Content: strings.Repeat("Some words of \"text\", then a line.\n", 900)}}}
	for b.Loop() {
		if _, err := judge.Ask(b.Context(), j, req, func(r judge.Reply) (int, error) { return verdict.Position(r.Text, 4) }); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkParse1MB is a verdict after a megabyte of prose with braces.
func BenchmarkParse1MB(b *testing.B) {
	text := strings.Repeat(`It says {"x": [1, {"y": "z"}]} and {not this. `, 22_000) + `{"position": 2}`
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := verdict.Position(text, 4); err != nil {
			b.Fatal(err)
		}
	}
}
