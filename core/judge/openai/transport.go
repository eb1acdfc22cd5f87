package openai

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/judge/options"
)

// The transport's limits.
const (
	dialTimeout = 10 * time.Second
	writeBuffer = 64 << 10 // a prompt in one write or a few
	readBuffer  = 16 << 10
	// Shorter than the 5 s after which uvicorn, which serves vLLM and SGLang,
	// closes an idle connection: a request must not be written into one that the
	// server is about to close.
	idleTimeout = 4 * time.Second
)

// newHTTPClient makes the HTTP client that all endpoints of a judge share. It
// keeps one connection for each request that can be in flight: net/http's
// default of two idle ones a host opens a connection for nearly every request.
// HTTP/1.1 only, so that a slow answer never holds up others on its connection.
// The proxy is the configured one or none: this code runs inside a process whose
// environment it sees only as it was at start.
func newHTTPClient(c options.Judge) (*http.Client, error) {
	proxy, err := proxyOf(string(c.Proxy))
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Client{
		Transport: &http.Transport{
			Proxy:               proxy,
			DialContext:         safely(dialer.DialContext),
			Protocols:           protocols,
			TLSClientConfig:     &tls.Config{MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout: dialTimeout,
			MaxIdleConns:        0, // bounded by host
			MaxIdleConnsPerHost: c.MaxConcurrency,
			MaxConnsPerHost:     c.MaxConcurrency,
			IdleConnTimeout:     idleTimeout,
			WriteBufferSize:     writeBuffer,
			ReadBufferSize:      readBuffer,
			DisableCompression:  true, // answers are short
		},
		// A redirect would turn the POST into a GET, or carry the key elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

func proxyOf(raw string) (func(*http.Request) (*url.URL, error), error) {
	if raw == "" {
		return nil, nil
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, fault.New(fault.InvalidValue, "judge.proxy", "this is not a URL")
	}
	return http.ProxyURL(u), nil
}

type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// safely keeps a panic while dialling, which happens in a goroutine of net/http,
// from ending the process.
func safely(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, addr string) (conn net.Conn, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("dialling %s: panic: %v", addr, p)
			}
		}()
		conn, err = dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return quiet(conn), nil
	}
}
