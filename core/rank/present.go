package rank

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Present returns the candidates in the order in which a judge is shown them: a
// shuffle seeded with a hash of (seed, query, step, candidate ids), so that a
// re-run asks the same questions whatever the order of arrival. The purpose
// tells apart the several shuffles of one group (repeats, votes, rounds).
func (g *Group) Present(cs []*Candidate, purpose string) []*Candidate {
	shown := sorted(cs)
	h := sha256.New()
	fmt.Fprintf(h, "%d\x00%s\x00%d\x00%s", g.Seed, g.Query.ID, g.Step, purpose)
	for _, c := range shown {
		fmt.Fprintf(h, "\x00%s", c.ID)
	}
	sum := h.Sum(nil)
	random := rand.New(rand.NewPCG(binary.LittleEndian.Uint64(sum), binary.LittleEndian.Uint64(sum[8:])))
	random.Shuffle(len(shown), func(i, j int) { shown[i], shown[j] = shown[j], shown[i] })
	return shown
}

// sorted returns the candidates in the order of their IDs.
func sorted(cs []*Candidate) []*Candidate {
	return slices.SortedFunc(slices.Values(cs), func(a, b *Candidate) int { return strings.Compare(a.ID, b.ID) })
}

// Texts are the candidates' answers in the given order.
func Texts(cs []*Candidate) []string {
	out := make([]string, len(cs))
	for i, c := range cs {
		out[i] = c.Text
	}
	return out
}

// Pick returns cs[i] for each i of order.
func Pick(cs []*Candidate, order []int) []*Candidate {
	out := make([]*Candidate, len(order))
	for k, i := range order {
		out[k] = cs[i]
	}
	return out
}
