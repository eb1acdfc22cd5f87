package openai

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// quietConn writes without raising SIGPIPE. A Python program may have set that
// signal back to its default, and then a write to a connection that the peer has
// closed would end the whole process instead of failing with EPIPE.
type quietConn struct {
	*net.TCPConn
	raw syscall.RawConn
}

// quiet wraps a TCP connection and leaves any other as it is.
func quiet(conn net.Conn) net.Conn {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return conn
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return conn
	}
	return struct{ net.Conn }{&quietConn{tcp, raw}}
}

func (c *quietConn) Write(p []byte) (int, error) {
	written := 0
	var failed error
	// The callback runs again whenever the socket takes more, until it says done.
	err := c.raw.Write(func(fd uintptr) bool {
		for written < len(p) {
			n, err := syscall.SendmsgN(int(fd), p[written:], nil, nil, syscall.MSG_NOSIGNAL)
			switch {
			case errors.Is(err, syscall.EINTR):
			case errors.Is(err, syscall.EAGAIN):
				return false
			case err != nil:
				failed = os.NewSyscallError("sendmsg", err)
				return true
			default:
				written += n
			}
		}
		return true
	})
	if err == nil && failed != nil {
		err = &net.OpError{Op: "write", Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: failed}
	}
	return written, err
}
