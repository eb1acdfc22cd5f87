package engine

import "testing"

// FuzzGroup feeds the parser of groups any bytes. What is accepted keeps to the
// limits, and its responses can be taken in.
func FuzzGroup(f *testing.F) {
	f.Add(of("q", "t70", "t5").json(), -1)
	f.Add(of("q").with("idempotency_key", "t").with("after_checkpoint", 3).with("result_key", "uid-1").with("step", 2).json(), 2)
	f.Add(of("q", "\u00e9", "").with("result_key", "\u2028<&>").with("eligible", []bool{true, false}).with("format_scores", []float64{0, 1}).json(), -1)
	f.Add([]byte(`{"query_id": "q", "Label": "x", "result_key": "y", "responses": [null]}`), -1)
	l := limits{MaxResponseBytes: 100, MaxGroupSize: 4, MaxGroups: 1}
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		size = max(-1, size%6)
		g, err := decodeGroup(data, size, l)
		if err != nil {
			return
		}
		if len(g.ResultKey) > maxResultKey || len(g.IdempotencyKey) > maxIdempotencyKey || g.AfterCheckpoint < 0 || g.ID == "" {
			t.Errorf("accepted: %+v", g)
		}
		if n := max(size, len(g.Responses)); n < 1 || n > l.MaxGroupSize {
			t.Errorf("accepted: a group of %d", n)
		}
		for i, text := range g.Responses {
			if r := g.response(i, text); r.Text != text || len(text) > l.MaxResponseBytes || r.Format != nil && !(*r.Format >= 0 && *r.Format <= 1) {
				t.Errorf("accepted: response %+v", r)
			}
		}
	})
}
