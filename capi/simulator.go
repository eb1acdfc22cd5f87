package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"strconv"

	"github.com/rankbuffer/rankbuffer/core/fault"
	"github.com/rankbuffer/rankbuffer/core/judge/sim"
	"github.com/rankbuffer/rankbuffer/core/strict"
)

// simulator is a simulated judge served over HTTP.
type simulator struct{ server *sim.Server }

// newSimulator starts one from {"host", "port", and the judge's own fields}.
func newSimulator(config []byte) (*simulator, error) {
	address, rest, err := splitAddress(config)
	if err != nil {
		return nil, err
	}
	cfg, err := sim.ParseConfig(rest)
	if err != nil {
		return nil, err
	}
	judge, err := sim.New(cfg)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fault.New(fault.FileError, "", "%w", err)
	}
	return &simulator{sim.Start(listener, judge)}, nil
}

// splitAddress takes host and port out of a configuration.
func splitAddress(config []byte) (address string, rest []byte, err error) {
	var fields map[string]json.RawMessage
	if err := strict.Unmarshal("", config, &fields); err != nil {
		return "", nil, err
	}
	host, port := "127.0.0.1", 0
	for name, into := range map[string]any{"host": &host, "port": &port} {
		if value, given := fields[name]; given {
			if err := strict.Unmarshal(name, value, into); err != nil {
				return "", nil, err
			}
			delete(fields, name)
		}
	}
	if port < 0 || port > 65535 {
		return "", nil, fault.New(fault.InvalidValue, "port", "%d is not in 0..65535", port)
	}
	rest, err = json.Marshal(fields)
	if err != nil {
		return "", nil, err
	}
	return net.JoinHostPort(host, strconv.Itoa(port)), rest, nil
}

func (s *simulator) kind() string { return "simulated judge" }

// stop cuts off the requests in flight: their time is the caller's to give, by
// stopping later.
func (s *simulator) stop() error {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.server.Stop(now); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

func (s *simulator) release() {}
