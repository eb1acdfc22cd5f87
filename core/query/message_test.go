package query

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/fault"
)

// Messages as TRL, verl and chat APIs write them.
func TestPromptFromMessages(t *testing.T) {
	for data, want := range map[string][]Message{
		`[{"role": "user", "content": "Why?", "name": null}]`:                                                              {{"user", "Why?"}},
		`[{"role": "user", "content": "Why?", "name": "Ada", "extra": {"a": [1]}}]`:                                        {{"user", "Why?"}},
		`[{"role": "system", "content": null}, {"role": "user", "content": "Hi"}]`:                                         {{"system", ""}, {"user", "Hi"}},
		`[{"role": "user", "content": [{"type": "text", "text": "See"}, "this", {"text": "too"}]}]`:                        {{"user", "See\nthis\ntoo"}},
		`[{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "What is it?"}]}]`:                      {{"user", "[image]\nWhat is it?"}},
		`[{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}, {"type": "text", "text": "?"}]}]`: {{"user", "[image]\n?"}},
		`[{"role": "user", "content": [{"type": "input_audio"}, {"type": "input_text", "text": "?"}]}]`:                    {{"user", "[audio]\n?"}},
		`[{"role": "user", "content": "?"}, {"role": "user", "content": [{"type": "video"}]}]`:                             {{"user", "?"}, {"user", "[video]"}},
		`[{"role": "assistant", "content": null, "tool_calls": [{"id": "1", "type": "function", "function": {"name": "sum", "arguments": "{\"a\": 1}"}}]}, {"role": "tool", "tool_call_id": "1", "name": "sum", "content": "3"}]`: {
			{"assistant", `[tool call: sum {"a": 1}]`}, {"tool", "3"}},
		`[{"role": "assistant", "content": "Let me see.", "tool_calls": [{"function": {"name": "a", "arguments": {"b": 2}}}, {"name": "c"}]}]`: {
			{"assistant", "Let me see.\n[tool call: a {\"b\": 2}]\n[tool call: c]"}},
		`[{"role": "assistant", "tool_calls": [{"name": "c", "arguments": {}}]}]`: {{"assistant", "[tool call: c {}]"}},
		`[]`: nil,
	} {
		var p Prompt
		if err := json.Unmarshal([]byte(data), &p); err != nil || !reflect.DeepEqual(p.Messages, want) {
			t.Errorf("%s: got %q, error %v; want %q", data, p.Messages, err, want)
		}
		// What is stored is read back as it was.
		stored, _ := json.Marshal(p)
		var again Prompt
		if err := json.Unmarshal(stored, &again); err != nil || !again.Equal(p) {
			t.Errorf("%s: stored as %s and read as %q, error %v", data, stored, again.Messages, err)
		}
	}
}

func TestPromptRefuses(t *testing.T) {
	for data, want := range map[string]struct {
		code fault.Code
		text string
	}{
		`{"role": "user"}`:                                   {fault.InvalidValue, "must be a string or a list of messages"},
		`[7]`:                                                {fault.InvalidValue, `[0]: must be {"role", "content"}`},
		`["Why?"]`:                                           {fault.InvalidValue, `[0]: must be {"role", "content"}`},
		`[{"content": "Why?"}]`:                              {fault.MissingField, "[0].role: missing"},
		`[{"role": "user"}]`:                                 {fault.MissingField, "[0].content: missing"},
		`[{"role": "user", "text": "Why?"}]`:                 {fault.MissingField, "[0].content: missing"},
		`[{"role": 7, "content": "Why?"}]`:                   {fault.InvalidValue, "[0].role: must not be a JSON number"},
		`[{"role": "user", "content": 7}]`:                   {fault.InvalidValue, "[0].content: must be a string, a list of parts or null"},
		`[{"role": "user", "content": [7]}]`:                 {fault.InvalidValue, "[0].content[0]: must be"},
		`[{"role": "user", "content": " "}]`:                 {fault.InvalidValue, "holds no text"},
		`[{"role": "user", "content": [{"type": "image"}]}]`: {fault.InvalidValue, "holds no text"},
		`[{"role": "user", "content": "a"}, {"role": "user", "tool_calls": 1}]`: {fault.InvalidValue, "[1].tool_calls: must not be a JSON number"},
	} {
		err := json.Unmarshal([]byte(data), new(Prompt))
		if err == nil || fault.From(err).Code != want.code || !strings.Contains(err.Error(), want.text) {
			t.Errorf("%s: got %v, want %s with %q", data, err, want.code, want.text)
		}
	}
}
