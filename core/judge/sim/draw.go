package sim

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
)

// digest identifies a text, a call or a request.
type digest [sha256.Size]byte

// digestOf hashes fields with their lengths, so that no two lists hash alike.
func digestOf(fields ...string) digest {
	h := sha256.New()
	var n [8]byte
	for _, f := range fields {
		binary.BigEndian.PutUint64(n[:], uint64(len(f)))
		h.Write(n[:])
		h.Write([]byte(f))
	}
	return digest(h.Sum(nil))
}

// source draws numbers that follow from (seed, label, what is named) alone.
type source struct{ seed int64 }

func (s source) bits(label string, named ...digest) uint64 {
	buf := make([]byte, 0, 8+len(label)+len(named)*sha256.Size)
	buf = binary.BigEndian.AppendUint64(buf, uint64(s.seed))
	buf = append(buf, label...) // labels are of different lengths or letters, digests of one length: no two inputs are equal
	for _, d := range named {
		buf = append(buf, d[:]...)
	}
	sum := sha256.Sum256(buf)
	return binary.BigEndian.Uint64(sum[:])
}

// uniform is in (0, 1), never at an end.
func (s source) uniform(label string, named ...digest) float64 {
	return (float64(s.bits(label, named...)>>11) + 0.5) / (1 << 53)
}

// normal is a standard normal draw, by inversion.
func (s source) normal(label string, named ...digest) float64 {
	return math.Sqrt2 * math.Erfinv(2*s.uniform(label, named...)-1)
}
