package rank

import "testing"

func TestStatusSeverity(t *testing.T) {
	for _, tt := range []struct{ a, b, want Status }{
		{JudgeFailed, "", JudgeFailed}, {JudgeFailed, Truncated, Truncated}, {Timeout, Truncated, Timeout},
		{Cancelled, Timeout, Cancelled}, {JudgeFailed, Cancelled, Cancelled},
	} {
		if worse(tt.a, tt.b) != tt.want || worse(tt.b, tt.a) != tt.want {
			t.Errorf("worse of %q and %q is %q and %q, want %q", tt.a, tt.b, worse(tt.a, tt.b), worse(tt.b, tt.a), tt.want)
		}
	}
}
