package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/prompt"
)

// ModelName is what /v1/models lists. Requests may name any model.
const ModelName = "simulated"

// chatRequest is the part of OpenAI's chat completion request that matters
// here; other fields are accepted and ignored, as inference servers do.
type chatRequest struct {
	Model    string `json:"model"`
	Messages []struct {
		Role    string  `json:"role"`
		Content content `json:"content"`
	} `json:"messages"`
	Seed        *int64 `json:"seed"`
	LogProbs    bool   `json:"logprobs"`
	TopLogProbs int    `json:"top_logprobs"`
	N           *int   `json:"n"`
	Stream      bool   `json:"stream"`
}

// content is a string, or a list of text parts read as one.
type content string

func (c *content) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '[' {
		return json.Unmarshal(data, (*string)(c))
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	var b strings.Builder
	for i, part := range parts {
		if part.Type != "text" {
			return fmt.Errorf("messages.content[%d].type: %q is not supported, only text is", i, part.Type)
		}
		b.WriteString(part.Text)
	}
	*c = content(b.String())
	return nil
}

// maxTopLogProbs is OpenAI's limit.
const maxTopLogProbs = 20

func (r chatRequest) judgeRequest() (judge.Request, error) {
	switch {
	case r.Model == "":
		return judge.Request{}, errors.New("model: missing")
	case r.Stream:
		return judge.Request{}, errors.New("stream: not supported")
	case r.N != nil && *r.N != 1:
		return judge.Request{}, errors.New("n: only 1 is supported")
	case r.TopLogProbs < 0 || r.TopLogProbs > maxTopLogProbs:
		return judge.Request{}, fmt.Errorf("top_logprobs: %d is not between 0 and %d", r.TopLogProbs, maxTopLogProbs)
	case r.TopLogProbs > 0 && !r.LogProbs:
		return judge.Request{}, errors.New("top_logprobs: needs logprobs to be true")
	}
	messages := make([]prompt.Message, len(r.Messages))
	for i, m := range r.Messages {
		messages[i] = prompt.Message{Role: m.Role, Content: string(m.Content)}
	}
	return judge.Request{Messages: messages, Seed: r.Seed, TopLogProbs: r.TopLogProbs}, nil
}

type chatResponse struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []chatChoice `json:"choices"`
	Usage   chatUsage    `json:"usage"`
}

type chatChoice struct {
	Index        int           `json:"index"`
	Message      answerMessage `json:"message"`
	LogProbs     *chatLogProbs `json:"logprobs"`
	FinishReason string        `json:"finish_reason"`
}

type answerMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type chatLogProbs struct {
	Content []chatToken `json:"content"`
}

type chatToken struct {
	Token       string      `json:"token"`
	LogProb     float64     `json:"logprob"`
	Bytes       []int       `json:"bytes"`
	TopLogProbs []chatToken `json:"top_logprobs,omitempty"`
}

type chatUsage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
	Details          struct {
		CachedTokens int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

func newChatResponse(id uint64, model string, reply judge.Reply) chatResponse {
	r := chatResponse{
		ID: fmt.Sprintf("chatcmpl-sim-%d", id), Object: "chat.completion", Created: time.Now().Unix(), Model: model,
		Choices: []chatChoice{{
			Message:      answerMessage{Role: "assistant", Content: reply.Text},
			FinishReason: reply.FinishReason,
		}},
		Usage: chatUsage{
			PromptTokens: reply.Usage.Prompt, CompletionTokens: reply.Usage.Completion,
			TotalTokens: reply.Usage.Prompt + reply.Usage.Completion,
		},
	}
	r.Usage.Details.CachedTokens = reply.Usage.Cached
	if len(reply.Tokens) > 0 {
		r.Choices[0].LogProbs = &chatLogProbs{}
	}
	for _, t := range reply.Tokens {
		token := newChatToken(t.Token, t.LogProb)
		for _, a := range t.Top {
			token.TopLogProbs = append(token.TopLogProbs, newChatToken(a.Token, a.LogProb))
		}
		r.Choices[0].LogProbs.Content = append(r.Choices[0].LogProbs.Content, token)
	}
	return r
}

func newChatToken(text string, logProb float64) chatToken {
	t := chatToken{Token: text, LogProb: logProb, Bytes: make([]int, len(text))}
	for i, b := range []byte(text) {
		t.Bytes[i] = int(b)
	}
	return t
}

// chatError is OpenAI's error body.
type chatError struct {
	Error chatErrorDetail `json:"error"`
}

type chatErrorDetail struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

func newChatError(status int, message string) chatError {
	kind := "server_error"
	if status < 500 {
		kind = "invalid_request_error"
	}
	return chatError{chatErrorDetail{Message: message, Type: kind}}
}
