// Package openai is the judge behind an OpenAI-compatible API: what is sent, what
// is read of the response, and what its failures mean for the configuration.
package openai

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/sashabaranov/go-openai"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/options"
)

// New makes the judges of the options, one for each base URL. They share the
// doer, which sends HTTP requests; nil stands for a connection pool of their own.
func New(opts options.Judge, doer openai.HTTPDoer) ([]judge.Judge, error) {
	clients, err := newClients(opts, doer)
	judges := make([]judge.Judge, len(clients))
	for i, c := range clients {
		judges[i] = c
	}
	return judges, err
}

func newClients(opts options.Judge, doer openai.HTTPDoer) ([]*client, error) {
	opts = opts.WithDefaults()
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	if opts.Type != options.TypeOpenAI {
		return nil, fault.New(fault.InvalidValue, "judge.type", "%q has no endpoint to connect to", opts.Type)
	}
	var closeIdle func()
	if doer == nil {
		own, err := newHTTPClient(opts)
		if err != nil {
			return nil, err
		}
		doer, closeIdle = own, own.CloseIdleConnections
	}
	clients := make([]*client, len(opts.BaseURLs))
	for i, base := range opts.BaseURLs {
		c, err := newClient(opts, base, doer, closeIdle)
		if err != nil {
			return nil, err
		}
		clients[i] = c
	}
	return clients, nil
}

// client sends requests to one OpenAI-compatible endpoint. It tries once.
type client struct {
	url     *url.URL // the base URL, without a slash at its end
	model   string
	keyFrom string // the option the key came from; "" if there is none
	keyIn   string // names the environment variable, if it came from one
	proxied bool
	header  http.Header
	secrets []string // never to be shown, whatever the endpoint echoes
	encoder *encoder
	doer    openai.HTTPDoer
	close   func()
}

// String hides the key that fmt would find in the fields.
func (c client) String() string { return "judge client of " + c.url.Redacted() }

// GoString does the same for %#v.
func (c client) GoString() string { return c.String() }

func newClient(c options.Judge, base string, doer openai.HTTPDoer, closeIdle func()) (*client, error) {
	u, err := url.Parse(strings.TrimRight(strings.TrimSpace(base), "/"))
	if err != nil {
		return nil, fault.New(fault.InvalidValue, "judge.base_url", "this is not a URL")
	}
	key, err := c.Key()
	if err != nil {
		return nil, err
	}
	enc, err := newEncoder(c)
	if err != nil {
		return nil, err
	}
	out := &client{
		url: u, model: c.Model, proxied: c.Proxy != "", encoder: enc, doer: doer, close: closeIdle,
		header: http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}, "User-Agent": {"rankbuffer"}},
	}
	if key != "" {
		out.header.Set("Authorization", "Bearer "+key)
		out.secrets = append(out.secrets, key)
		out.keyFrom = "judge.api_key"
		if c.APIKeyEnv != "" {
			out.keyFrom, out.keyIn = "judge.api_key_env", " in the environment variable "+c.APIKeyEnv
		}
	}
	if password, ok := u.User.Password(); ok {
		out.secrets = append(out.secrets, password)
	}
	const short = 8 // a shorter header value is no secret, and hiding it would garble messages
	for name, value := range c.Headers {
		out.header.Set(name, string(value))
		if len(value) >= short {
			out.secrets = append(out.secrets, string(value))
		}
	}
	return out, nil
}

func (c *client) Judge(ctx context.Context, req judge.Request) (judge.Reply, error) {
	body, err := c.encoder.encode(req)
	if err != nil {
		return judge.Reply{}, judge.AsError(err)
	}
	answer, err := c.send(ctx, http.MethodPost, "chat/completions", body, promptBytes(req.Messages))
	if err != nil {
		return judge.Reply{}, err
	}
	return c.decode(answer, req.TopLogProbs > 0)
}

// maxAnswer bounds a response body. The largest answers are long texts with
// log-probabilities at every token.
const maxAnswer = 32 << 20

// send makes one HTTP exchange and returns the body of a 2xx response.
func (c *client) send(ctx context.Context, method, path string, body []byte, promptSize int) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.url.JoinPath(path).String(), bytes.NewReader(body))
	if err != nil {
		return nil, judge.Fail(fault.InvalidValue, "judge.base_url", "%s: %w", c.url.Redacted(), err)
	}
	req.Header = c.header.Clone() // a doer may add to it
	resp, err := c.doer.Do(req)
	if err != nil {
		return nil, c.networkError(ctx, "cannot reach", err)
	}
	defer func() { _ = resp.Body.Close() }()
	// To its end, or the connection cannot be used again.
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, c.networkError(ctx, "lost the connection to", err)
	case len(answer) > maxAnswer:
		e := judge.Fail(fault.JudgeBadResponse, "", "the answer of %s is larger than %d bytes", c.url.Redacted(), maxAnswer)
		e.StatusCode = resp.StatusCode
		return nil, e
	case resp.StatusCode/100 != 2:
		return nil, c.statusError(resp, answer, promptSize)
	}
	return answer, nil
}

// networkError is the error of an exchange that brought no whole response.
func (c *client) networkError(ctx context.Context, what string, err error) *judge.Error {
	if ctx.Err() != nil {
		return judge.Waiting(ctx, c.url.Redacted())
	}
	var urlErr *url.Error
	if errors.As(err, &urlErr) {
		err = urlErr.Err // its method and address would repeat ours
	}
	through := ""
	if c.proxied {
		through = " through judge.proxy"
	}
	e := judge.Fail(fault.JudgeUnreachable, "judge.base_url", "%s %s%s: %w", what, c.url.Redacted(), through, err)
	e.Retryable = !hopeless(err)
	return e
}

// hopeless tells failures of TLS, which come from configuration, from those of
// the network, which pass.
func hopeless(err error) bool {
	var (
		certificate *tls.CertificateVerificationError
		record      tls.RecordHeaderError
		authority   x509.UnknownAuthorityError
	)
	return errors.As(err, &certificate) || errors.As(err, &record) || errors.As(err, &authority) ||
		strings.Contains(err.Error(), "server gave HTTP response to HTTPS client")
}

// hide takes secrets out of text that came from outside.
func (c *client) hide(text string) string {
	for _, s := range c.secrets {
		text = strings.ReplaceAll(text, s, options.Hidden)
	}
	return text
}

func (c *client) Close() error {
	if c.close != nil {
		c.close()
	}
	return nil
}
