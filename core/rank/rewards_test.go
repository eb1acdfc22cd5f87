package rank

import (
	"slices"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/reward"
)

// Members of a tier share the average of the ranks they fill, counted from the
// empty responses; a tier may be empty, and identical responses are one candidate.
func TestRankRewards(t *testing.T) {
	g := NewGroup(Spec{Size: 8}, Options{Dedupe: true}, reward.DefaultReasoning, Env{})
	for i, text := range []string{"b", "c", "b2", "", "a", " ", "failed", "c"} {
		if err := g.Add(i, Response{Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	cs, err := g.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := map[string]*Candidate{}
	for _, one := range cs {
		c[one.Text] = one
	}
	g.Fail(errDown, c["failed"])
	var counted int
	got := g.RankRewards([]Tier{{c["a"]}, {}, {c["b"], c["failed"], c["b2"]}, {c["c"]}}, func(q float64, n int) float64 {
		counted = n
		return q
	}, -1)
	if want := []float64{3.5, 5.5, 3.5, -1, 2, -1, 0, 5.5}; !slices.Equal(got, want) || counted != 7 {
		t.Errorf("rewards %v of %d responses, want %v of 7", got, counted, want)
	}
}

func TestTiersOf(t *testing.T) {
	a, b, c := &Candidate{ID: "a"}, &Candidate{ID: "b"}, &Candidate{ID: "c"}
	tiers := TiersOf(map[*Candidate]float64{a: 2, b: -1, c: 2})
	if len(tiers) != 2 || !slices.Equal(tiers[0], Tier{b}) || len(tiers[1]) != 2 || slices.Contains(tiers[1], b) {
		t.Errorf("tiers %v, want b below a and c", tiers)
	}
}
