package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"

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

// completionOf is a reply as OpenAI's response.
func completionOf(id uint64, model string, reply judge.Reply) openai.ChatCompletionResponse {
	choice := openai.ChatCompletionChoice{
		Message:      openai.ChatCompletionMessage{Role: "assistant", Content: reply.Text},
		FinishReason: openai.FinishReason(reply.FinishReason),
	}
	if len(reply.Tokens) > 0 {
		choice.LogProbs = &openai.LogProbs{}
	}
	for _, t := range reply.Tokens {
		token := openai.LogProb{Token: t.Token, LogProb: t.LogProb}
		for _, a := range t.Top {
			token.TopLogProbs = append(token.TopLogProbs, openai.TopLogProbs{Token: a.Token, LogProb: a.LogProb})
		}
		choice.LogProbs.Content = append(choice.LogProbs.Content, token)
	}
	return openai.ChatCompletionResponse{
		ID: fmt.Sprintf("chatcmpl-sim-%d", id), Object: "chat.completion", Created: time.Now().Unix(), Model: model,
		Choices: []openai.ChatCompletionChoice{choice},
		Usage: openai.Usage{
			PromptTokens: reply.Usage.Prompt, CompletionTokens: reply.Usage.Completion,
			TotalTokens:         reply.Usage.Prompt + reply.Usage.Completion,
			PromptTokensDetails: &openai.PromptTokensDetails{CachedTokens: reply.Usage.Cached},
		},
	}
}
