// Package reward turns an order of responses into rewards and rewards into
// advantages. It knows nothing of judges or buffers: numbers in, numbers out.
package reward

import "math"

// Epsilon keeps the advantage finite when a group's rewards barely differ
// (RankBuffer, equation 11).
const Epsilon = 1e-6

// Linear maps rank q of n responses (0 = worst) onto [-1, 1]: -1 + 2q/(n-1)
// (RankBuffer, equation 9). One response alone is worth 0.
func Linear(q float64, n int) float64 {
	if n <= 1 {
		return 0
	}
	return -1 + 2*q/float64(n-1)
}

// Mean is the arithmetic mean, 0 of nothing. That of equal numbers is exactly
// theirs, so that they have no spread either.
func Mean(xs []float64) float64 {
	if len(xs) == 0 {
		return 0
	}
	if allEqual(xs) {
		return xs[0]
	}
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

// Std is the sample standard deviation (ddof = 1), 0 of fewer than two.
func Std(xs []float64) float64 {
	if len(xs) < 2 {
		return 0
	}
	mean, sum := Mean(xs), 0.0
	for _, x := range xs {
		sum += (x - mean) * (x - mean)
	}
	return math.Sqrt(sum / float64(len(xs)-1))
}

// Advantages are the group-relative advantages of GRPO: (r - mean) / (std + eps)
// with ddof = 1; all 0 for one response or when all rewards are equal. Without
// std (Dr. GRPO) they are only centred.
func Advantages(rewards []float64, divideByStd bool) []float64 {
	out := make([]float64, len(rewards))
	if len(rewards) < 2 || allEqual(rewards) {
		return out
	}
	mean, scale := Mean(rewards), 1.0
	if divideByStd {
		scale = Std(rewards) + Epsilon
	}
	for i, r := range rewards {
		out[i] = (r - mean) / scale
	}
	return out
}

func allEqual(xs []float64) bool {
	for _, x := range xs {
		if x != xs[0] {
			return false
		}
	}
	return true
}
