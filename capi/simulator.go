package main

// simulator is a simulated judge served over HTTP.
type simulator struct {
	url  string
	quit func() error
}

func newSimulator([]byte) (*simulator, error) { return nil, errNoEngine }

func (s *simulator) kind() string { return "simulated judge" }
func (s *simulator) stop() error  { return s.quit() }
func (s *simulator) release()     {}
