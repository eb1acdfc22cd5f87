package rank

// warner is a Method whose options can be doubtful without being wrong.
type warner interface {
	warnings(temperature float64) []string
}

// Warnings says which of the method's options are likely a mistake with a judge
// of the given temperature, each naming the option and what to do.
func Warnings(m Method, temperature float64) []string {
	if w, ok := m.(warner); ok {
		return w.warnings(temperature)
	}
	return nil
}
