package openai

import (
	"strings"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/judge/options"
)

// FuzzDecode: any response body gives a reply or an error.
func FuzzDecode(f *testing.F) {
	c, err := newClient(options.Judge{Model: "m"}.WithDefaults(), "http://host/v1", nil, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"choices": [{"message": {"content": "x", "reasoning": "y"}, "finish_reason": "stop", "logprobs": {"content": [{"token": "a", "logprob": -1, "top_logprobs": []}]}}], "usage": {"prompt_tokens": 3}}`))
	f.Add([]byte(`{"choices": [{"message": {"content": [{"type": "text", "text": "x"}]}}]}`))
	f.Add([]byte(`{"error": {"message": "no", "code": 429}}`))
	f.Add([]byte(`{"object": "error", "message": "The model does not exist", "code": 404}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		reply, err := c.decode(body, true)
		if err == nil && strings.TrimSpace(reply.Text) == "" {
			t.Error("an empty answer without an error")
		}
		if reply.Usage.Prompt < 0 || reply.Usage.Completion < 0 || reply.Usage.Cached < 0 {
			t.Errorf("usage %+v", reply.Usage)
		}
		for _, status := range []int{301, 400, 404, 429, 500} {
			if c.explain(status, c.apiError(status, "", body), 10).Error() == "" {
				t.Error("an error without words")
			}
		}
	})
}

// FuzzOptions: what is accepted can be encoded.
func FuzzOptions(f *testing.F) {
	f.Add([]byte(`{"base_url": "http://h/v1", "model": "m", "max_retries": 0, "extra_body": {"a": [1]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		opts, _, err := options.Parse(data)
		if err != nil || opts.Type != options.TypeOpenAI {
			return
		}
		if _, err := newEncoder(opts); err != nil {
			t.Errorf("accepted but cannot be encoded: %v", err)
		}
	})
}
