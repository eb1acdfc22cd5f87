package query

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rankbuffer/rankbuffer/core/fault"
)

// Message is one chat message: a query's, or one of a request to the judge.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Prompt is what the policy was asked: plain text, or chat messages. Exactly
// one of the two is set. In JSON it is a string or a list of messages.
type Prompt struct {
	Text     string
	Messages []Message
}

// ValidRole keeps a role short and free of whatever a marker is made of.
func ValidRole(role string) bool {
	other := func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-')
	}
	return len(role) >= 1 && len(role) <= 32 && !strings.ContainsFunc(role, other)
}

// CheckRoles names the first message whose role cannot be shown.
func (p Prompt) CheckRoles() error {
	for i, m := range p.Messages {
		if !ValidRole(m.Role) {
			return fault.New(fault.InvalidValue, fmt.Sprintf("query[%d].role", i), "must be 1 to 32 letters, digits, _ or -, got %q", m.Role)
		}
	}
	return nil
}

// Empty reports whether nothing was given.
func (p Prompt) Empty() bool { return p.Text == "" && len(p.Messages) == 0 }

// Equal reports whether both prompts hold the same text or messages.
func (p Prompt) Equal(o Prompt) bool {
	return p.Text == o.Text && slices.Equal(p.Messages, o.Messages)
}

// MarshalJSON writes a string, or a list of messages.
func (p Prompt) MarshalJSON() ([]byte, error) {
	if len(p.Messages) > 0 {
		return json.Marshal(p.Messages)
	}
	return json.Marshal(p.Text)
}

// UnmarshalJSON reads a string, or a list of messages as trainers and chat APIs
// write them. Of a message, the judge is shown its role and one text:
//
//   - "content" is a string, null (no text), or a list of parts. The text of
//     {"type": "text", "text": ...} parts stays. Every other part becomes its
//     type in brackets: "[image]" for the types image, image_url and input_image.
//     Parts are joined by line breaks.
//   - Each of "tool_calls" adds a line, `[tool call: NAME ARGUMENTS]`. A message
//     with tool calls may leave "content" out.
//   - Every other field ("name", "tool_call_id", ...) is left out.
//
// A list without any text is refused.
func (p *Prompt) UnmarshalJSON(data []byte) error {
	*p = Prompt{}
	if data = bytes.TrimSpace(data); len(data) == 0 || data[0] != '[' {
		if err := json.Unmarshal(data, &p.Text); err != nil {
			return fault.New(fault.InvalidValue, "", "must be a string or a list of messages")
		}
		return nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return fault.New(fault.InvalidValue, "", "must be a list of messages: %w", err)
	}
	anyText := len(list) == 0
	for i, item := range list {
		m, hasText, err := readMessage(item)
		if err != nil {
			return fault.In(fmt.Sprintf("[%d]", i), err)
		}
		p.Messages = append(p.Messages, m)
		anyText = anyText || hasText
	}
	if !anyText {
		return fault.New(fault.InvalidValue, "", "holds no text for the judge to read")
	}
	return nil
}

// chatMessage is a message as it is written. Every field may be null.
type chatMessage struct {
	Role      *string         `json:"role"`
	Content   json.RawMessage `json:"content"`
	ToolCalls []toolCall      `json:"tool_calls"`
}

// toolCall is nested in "function" by chat APIs, and flat for chat templates.
type toolCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // an object, or a string that holds one
	Function  *toolCall       `json:"function"`
}

func readMessage(data []byte) (m Message, hasText bool, err error) {
	var given chatMessage
	if err := decode(data, &given, `{"role", "content"}`); err != nil {
		return m, false, err
	}
	const missing = `missing; a message is {"role", "content"}`
	switch {
	case given.Role == nil:
		return m, false, fault.New(fault.MissingField, "role", missing)
	case given.Content == nil && given.ToolCalls == nil:
		return m, false, fault.New(fault.MissingField, "content", missing)
	}
	lines, hasText, err := contentLines(given.Content)
	for _, call := range given.ToolCalls {
		lines = append(lines, call.String())
	}
	return Message{Role: *given.Role, Content: strings.Join(lines, "\n")}, hasText || len(given.ToolCalls) > 0, err
}

// contentLines is a message's content in the parts that are joined.
func contentLines(data json.RawMessage) (lines []string, hasText bool, err error) {
	parts := []json.RawMessage{data}
	switch {
	case data == nil || string(data) == "null" || string(data) == `""`:
		return nil, false, nil
	case data[0] != '"':
		if err := json.Unmarshal(data, &parts); err != nil {
			return nil, false, fault.New(fault.InvalidValue, "content", "must be a string, a list of parts or null")
		}
	}
	for i, item := range parts {
		line, isText, err := readPart(item)
		if err != nil {
			return nil, false, fault.In(fmt.Sprintf("content[%d]", i), err)
		}
		lines = append(lines, line)
		hasText = hasText || isText && strings.TrimSpace(line) != ""
	}
	return lines, hasText, nil
}

// readPart is a part's text, or its type in brackets.
func readPart(data json.RawMessage) (line string, isText bool, err error) {
	if json.Unmarshal(data, &line) == nil {
		return line, true, nil
	}
	part := struct{ Type, Text string }{Type: "text"}
	if err := decode(data, &part, `a string or {"type", "text"}`); err != nil {
		return "", false, err
	}
	kind := strings.TrimSuffix(strings.TrimPrefix(part.Type, "input_"), "_url")
	if kind == "text" {
		return part.Text, true, nil
	}
	return "[" + kind + "]", false, nil
}

func (c toolCall) String() string {
	if c.Function != nil {
		c = *c.Function
	}
	var text string
	if json.Unmarshal(c.Arguments, &text) != nil {
		text = string(c.Arguments)
	}
	return "[tool call: " + strings.TrimSpace(c.Name+" "+text) + "]"
}

// decode names the field that has the wrong type, or says what the whole must be.
func decode(data []byte, v any, whole string) error {
	err := json.Unmarshal(data, v)
	typ := new(json.UnmarshalTypeError)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &typ) && typ.Field != "":
		return fault.New(fault.InvalidValue, typ.Field, "must not be a JSON %s", typ.Value)
	}
	return fault.New(fault.InvalidValue, "", "must be %s", whole)
}
