package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/rankbuffer/rankbuffer/core/judge"
)

// Server is a judge listening for HTTP requests.
type Server struct {
	url    string
	http   http.Server
	cancel context.CancelFunc // of the requests still running
	done   chan struct{}      // closed when the listener's goroutine has ended
	err    error              // why it ended; read after done

	mu      sync.Mutex
	stopped bool           // guarded by mu: no call may start any more
	calls   sync.WaitGroup // running handlers; added to under mu, before stopped
}

// Start serves j on l, which the server takes over, until Stop.
func Start(l net.Listener, j judge.Judge) *Server {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{url: "http://" + l.Addr().String() + "/v1", cancel: cancel, done: make(chan struct{})}
	handler := Handler(j)
	s.http = http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !s.begin() {
				refuse(w, http.StatusServiceUnavailable, "the server is stopping")
				return
			}
			defer s.calls.Done()
			handler.ServeHTTP(w, r)
		}),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 30 * time.Second,
		ErrorLog:          log.New(io.Discard, "", 0), // the process belongs to someone else; its stderr too
	}
	go func() {
		defer close(s.done)
		defer func() {
			if p := recover(); p != nil {
				s.err = fmt.Errorf("serving the simulated judge: panic: %v", p)
			}
		}()
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.err = fmt.Errorf("serving the simulated judge: %w", err)
		}
	}()
	return s
}

// begin counts a call in, unless the server has stopped.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return false
	}
	s.calls.Add(1)
	return true
}

// URL is the base URL for clients, such as http://127.0.0.1:8000/v1.
func (s *Server) URL() string { return s.url }

// Done is closed when the server no longer listens.
func (s *Server) Done() <-chan struct{} { return s.done }

// Stop refuses new requests and waits for those running. When ctx ends first it
// cuts them off. It returns once the listener is closed and no call runs any
// more, and may be called again.
func (s *Server) Stop(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	s.cancel()
	if err != nil {
		_ = s.http.Close() // what Shutdown could not end in time
	}
	<-s.done
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	s.calls.Wait()
	switch {
	case s.err != nil:
		return s.err
	case err != nil:
		return fmt.Errorf("the simulated judge was stopped and requests were cut off: %w", err)
	}
	return nil
}
