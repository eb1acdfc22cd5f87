package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/options"
	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/strict"
)

// encoder writes request bodies. The fields that never change are encoded once.
// go-openai's own encoder drops a temperature of 0 and an empty content, has no
// place for arbitrary further fields, and costs several times as much since its
// output is scanned again.
type encoder struct {
	base            []byte // `{"model":...` with extra_body, not closed
	temperature     float64
	omitTemperature bool
	maxTokens       int
	ownTokenLimit   bool // extra_body has max_completion_tokens, which excludes max_tokens
	seed            *int64
	systemRole      bool
}

func newEncoder(c options.Judge) (*encoder, error) {
	fields := map[string]any{"model": c.Model}
	for key, value := range c.ExtraBody {
		fields[key] = value
	}
	base, err := json.Marshal(fields)
	if err != nil {
		return nil, fault.New(fault.InvalidValue, "judge.extra_body", "%w", err)
	}
	_, ownTokenLimit := c.ExtraBody["max_completion_tokens"]
	return &encoder{
		base: base[:len(base)-1], ownTokenLimit: ownTokenLimit,
		temperature: c.Temperature, omitTemperature: c.OmitTemperature,
		maxTokens: c.MaxTokens, seed: c.Seed, systemRole: *c.SystemRole,
	}, nil
}

// encode writes the body of one request.
func (e *encoder) encode(req judge.Request) ([]byte, error) {
	messages := req.Messages
	if !e.systemRole {
		messages = withoutSystem(messages)
	}
	buf := bytes.NewBuffer(make([]byte, 0, len(e.base)+256+promptBytes(messages)*9/8))
	buf.Write(e.base)

	b := buf.AvailableBuffer()
	if !e.omitTemperature {
		t := e.temperature
		if req.Temperature != nil {
			t = *req.Temperature
		}
		b = strconv.AppendFloat(append(b, `,"temperature":`...), t, 'g', -1, 64)
	}
	if n := orElse(req.MaxTokens, e.maxTokens); n > 0 && !e.ownTokenLimit {
		b = strconv.AppendInt(append(b, `,"max_tokens":`...), int64(n), 10)
	}
	if seed := orElse(req.Seed, e.seed); seed != nil {
		b = strconv.AppendInt(append(b, `,"seed":`...), *seed, 10)
	}
	if req.TopLogProbs > 0 {
		b = strconv.AppendInt(append(b, `,"logprobs":true,"top_logprobs":`...), int64(req.TopLogProbs), 10)
	}
	buf.Write(append(b, `,"messages":`...))

	if err := strict.EncodeLine(buf, messages); err != nil {
		return nil, fmt.Errorf("encoding the messages: %w", err)
	}
	buf.WriteByte('}')
	return buf.Bytes(), nil
}

func orElse[T comparable](value, other T) T {
	var zero T
	if value == zero {
		return other
	}
	return value
}

// promptBytes is the length of the messages' contents.
func promptBytes(messages []prompt.Message) int {
	n := 0
	for _, m := range messages {
		n += len(m.Content)
	}
	return n
}

// withoutSystem puts system messages before the first user message, for models
// whose chat template has no system role.
func withoutSystem(messages []prompt.Message) []prompt.Message {
	var system []string
	var out []prompt.Message
	for _, m := range messages {
		if m.Role == "system" {
			system = append(system, m.Content)
			continue
		}
		if m.Role == "user" && len(system) > 0 {
			m.Content = strings.Join(append(system, m.Content), "\n\n")
			system = nil
		}
		out = append(out, m)
	}
	if len(system) > 0 { // no user message to put them before
		out = append(out, prompt.Message{Role: "user", Content: strings.Join(system, "\n\n")})
	}
	return out
}
