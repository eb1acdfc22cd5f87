package openai

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"
)

// dial connects a quiet connection to a new listener's end.
func dial(t *testing.T) (quietEnd, peer net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	conn, err := safely((&net.Dialer{}).DialContext)(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if peer, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = conn.Close(), peer.Close() })
	return conn, peer
}

// TestQuietConnWritesEverything, also when the socket takes it in pieces.
func TestQuietConnWritesEverything(t *testing.T) {
	conn, peer := dial(t)
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	done := make(chan [32]byte)
	go func() {
		got, err := io.ReadAll(peer)
		if err != nil {
			t.Error(err)
		}
		done <- sha256.Sum256(got)
	}()
	n, err := conn.Write(sent)
	if n != len(sent) || err != nil {
		t.Errorf("wrote %d, %v", n, err)
	}
	if n, err := conn.Write(nil); n != 0 || err != nil {
		t.Errorf("wrote %d of nothing, %v", n, err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	if <-done != sha256.Sum256(sent) {
		t.Error("arrived changed")
	}
	if _, err := conn.Write(sent); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after closing: %v", err)
	}
}

// TestQuietConnFails with EPIPE or ECONNRESET when the peer has gone, and at its
// deadline when the peer does not read.
func TestQuietConnFails(t *testing.T) {
	full, _ := dial(t)
	if err := full.SetWriteDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := full.Write(make([]byte, 64<<20)); !errors.Is(err, os.ErrDeadlineExceeded) || n >= 64<<20 {
		t.Errorf("wrote %d, %v", n, err)
	}
	conn, peer := dial(t)
	if err := peer.Close(); err != nil {
		t.Fatal(err)
	}
	var err error
	for range 1000 { // the first writes may still be taken
		if _, err = conn.Write(make([]byte, 1<<16)); err != nil {
			break
		}
	}
	if !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v, want EPIPE or ECONNRESET", err)
	}
}

func TestPanicWhileDialling(t *testing.T) {
	_, err := safely(func(_ context.Context, _, _ string) (net.Conn, error) { panic("bug") })(t.Context(), "tcp", "host:1")
	check(t, nil, nil, err, "dialling host:1: panic: bug")
}
