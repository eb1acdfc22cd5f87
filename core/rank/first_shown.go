package rank

import "math"

// FirstShown tells how the text that a judge was shown first fared against the
// others of the same call. Presentation orders are random, so that a judge
// without position bias has it win half of the comparisons; what it wins beyond
// that is bias. Calls that show one candidate alone say nothing about it.
type FirstShown struct {
	Comparisons int     `json:"comparisons"` // between the first text and another, as far as the answers decide
	Wins        float64 `json:"wins"`        // a tie is half a win, a probability that part of one
}

// firstShown adds up FirstShown over the calls of a group. Wins are counted in
// whole millionths, so that their sum is the same whatever the order of calls.
type firstShown struct{ comparisons, wins int64 }

const millionths = 1e6

// FirstWon records that the text shown first won so much of a number of
// comparisons with the others of its call.
func (g *Group) FirstWon(wins float64, comparisons int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.first.comparisons += int64(comparisons)
	g.first.wins += int64(math.Round(wins * millionths))
}

// report is nil where no call compared anything.
func (f firstShown) report() *FirstShown {
	if f.comparisons == 0 {
		return nil
	}
	return &FirstShown{Comparisons: int(f.comparisons), Wins: float64(f.wins) / millionths}
}
