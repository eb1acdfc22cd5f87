package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sashabaranov/go-openai"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/judge"
)

// completion is what is read of a chat completion. The parts that endpoints
// write in different ways are decoded one by one, so that an odd one costs that
// part and not the answer. go-openai's own response type knows only one of the
// two names of a model's reasoning.
type completion struct {
	Choices []struct {
		Message struct {
			Content          json.RawMessage `json:"content"`
			Refusal          string          `json:"refusal"`
			Reasoning        json.RawMessage `json:"reasoning"`         // newer vLLM
			ReasoningContent json.RawMessage `json:"reasoning_content"` // DeepSeek, SGLang, older vLLM
		} `json:"message"`
		FinishReason openai.FinishReason `json:"finish_reason"`
		LogProbs     json.RawMessage     `json:"logprobs"`
	} `json:"choices"`
	Usage json.RawMessage `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// decode reads a reply. Reasoning is never the answer, whatever its name.
func (c *client) decode(body []byte, logProbs bool) (judge.Reply, error) {
	var got completion
	if err := json.Unmarshal(body, &got); err != nil {
		return judge.Reply{}, judge.Fail(fault.JudgeBadResponse, "judge.base_url",
			"%s does not answer like an OpenAI-compatible endpoint (%w); is the path of this address right? It said: %q",
			c.url.Redacted(), err, judge.Clip(c.hide(string(body))))
	}
	reply := judge.Reply{Usage: usageOf(got.Usage)}
	if len(got.Choices) == 0 {
		if len(got.Error) > 0 && string(got.Error) != "null" {
			return reply, c.errorInBody(body)
		}
		return reply, judge.EmptyAnswer(reply, ": the response has no choices")
	}
	choice := got.Choices[0]
	reply.Text = contentOf(choice.Message.Content)
	reply.FinishReason = string(choice.FinishReason)
	if logProbs {
		reply.Tokens = tokensOf(choice.LogProbs)
	}
	if strings.TrimSpace(reply.Text) != "" {
		return reply, nil
	}
	switch reasoning := len(contentOf(choice.Message.Reasoning)) + len(contentOf(choice.Message.ReasoningContent)); {
	case choice.FinishReason == openai.FinishReasonContentFilter:
		return reply, judge.Fail(fault.JudgeRefused, "", "the endpoint's content filter withheld the answer")
	case choice.Message.Refusal != "":
		return reply, judge.Fail(fault.JudgeRefused, "", "the model refused: %q", judge.Clip(c.hide(choice.Message.Refusal)))
	case reasoning > 0:
		return reply, judge.EmptyAnswer(reply, fmt.Sprintf(" (%d bytes of reasoning and nothing after it; thinking can be turned off "+
			"for many models with judge.extra_body = {\"chat_template_kwargs\": {\"enable_thinking\": false}})", reasoning))
	}
	return reply, judge.EmptyAnswer(reply, "")
}

// contentOf reads a message's content: text, null, or a list of parts.
func contentOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []openai.ChatMessagePart
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

func usageOf(raw json.RawMessage) judge.Usage {
	var u openai.Usage
	if json.Unmarshal(raw, &u) != nil {
		return judge.Usage{}
	}
	out := judge.Usage{Prompt: max(u.PromptTokens, 0), Completion: max(u.CompletionTokens, 0)}
	if u.PromptTokensDetails != nil {
		out.Cached = max(u.PromptTokensDetails.CachedTokens, 0)
	}
	return out
}

func tokensOf(raw json.RawMessage) []judge.TokenProb {
	var got openai.LogProbs
	if len(raw) == 0 || json.Unmarshal(raw, &got) != nil || len(got.Content) == 0 {
		return nil
	}
	out := make([]judge.TokenProb, len(got.Content))
	for i, t := range got.Content {
		out[i] = judge.TokenProb{Token: t.Token, LogProb: t.LogProb, Top: make([]judge.Alternative, len(t.TopLogProbs))}
		for k, a := range t.TopLogProbs {
			out[i].Top[k] = judge.Alternative{Token: a.Token, LogProb: a.LogProb}
		}
	}
	return out
}
