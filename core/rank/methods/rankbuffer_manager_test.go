package methods

import (
	"errors"
	"slices"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/prompt"
	"github.com/rankbuffer/rankbuffer/core/rank"
)

func TestLookAheadAppliesAtTheNextVisit(t *testing.T) {
	m := method(t, `{"name": "rankbuffer", "manager": "llm_lookahead"}`)
	_, first := score(t, m, &oracle{}, rank.Spec{Epoch: 0, Step: 3}, responsesOf(text(9, "a"), text(4, "b")), nil)
	o := &oracle{}
	res, second := score(t, m, o, rank.Spec{Buffer: first, Epoch: 1, Step: 4}, responsesOf(text(2, "c"), text(8, "d")), nil)
	if res.Calls["manager"] != 1 {
		t.Fatalf("calls %v, want one manager call", res.Calls)
	}
	if o.Asked[0].Kind != prompt.Manager || len(o.Asked[0].Lookahead) != 2 {
		t.Errorf("first call is %s with %d look-ahead texts, want the manager with 2", o.Asked[0].Kind, len(o.Asked[0].Lookahead))
	}
	if got, want := sources(second), "ranked:1 llm:4 ranked:5 llm:9"; got != want {
		t.Errorf("buffer %s, want %s", got, want)
	}
	if a := second.Anchors[3]; a.Epoch != 0 || a.Step != 3 {
		t.Errorf("anchor chosen late says epoch %d step %d, want those of its group, 0 and 3", a.Epoch, a.Step)
	}
	if got := ints(res.Positions); !slices.Equal(got, []int{1, 3}) {
		t.Errorf("positions %v are not those of the updated buffer", got)
	}
}

func TestInvalidManagerLeavesTheAnchors(t *testing.T) {
	o := &oracle{Say: func(_ judge.Request, d prompt.Document) string {
		if d.Kind == prompt.Manager {
			return `{"keep_anchor_ids": [0, 1], "add_rollout_ids": [0]}` // three of four
		}
		return ""
	}}
	group := responsesOf(text(9, "a"), text(4, "b"))
	res, next := score(t, method(t, `{"name": "rankbuffer", "manager": "llm"}`), o, rank.Spec{}, group, nil)
	if got, want := sources(next), "ranked:1 ranked:3 ranked:5 ranked:7"; got != want {
		t.Errorf("buffer %s, want %s", got, want)
	}
	if res.GroupStatus != rank.OK || res.Detail["manager_error"] == nil || next.Groups != 1 {
		t.Errorf("status %s, detail %v, %d groups: want ok and the error remarked", res.GroupStatus, res.Detail, next.Groups)
	}
	// With look-ahead, the update that cannot be made is dropped, not tried again.
	m := method(t, `{"name": "rankbuffer", "manager": "llm_lookahead"}`)
	_, first := score(t, m, o, rank.Spec{}, group, nil)
	_, second := score(t, m, o, rank.Spec{Buffer: first, Epoch: 1}, responsesOf(text(2, "c"), text(6, "d")), nil)
	if got := sources(second); got != "ranked:1 ranked:3 ranked:5 ranked:7" || second.Pending.Epoch != 1 {
		t.Errorf("buffer %s, pending update of epoch %d", got, second.Pending.Epoch)
	}
}

func TestFailedManagerIsNoMaintenance(t *testing.T) {
	o := &oracle{Fail: func(d prompt.Document) error {
		if d.Kind == prompt.Manager {
			return errors.New("down")
		}
		return nil
	}}
	group := responsesOf(text(9, "a"), text(4, "b"))
	res, next := score(t, method(t, `{"name": "rankbuffer", "manager": "llm"}`), o, rank.Spec{}, group, nil)
	if next != nil || res.GroupStatus != rank.Partial || !slices.Equal(res.Rewards, []float64{1, -1}) {
		t.Errorf("buffer changed: %t, status %s, rewards %v", next != nil, res.GroupStatus, res.Rewards)
	}
	// With look-ahead, the update stays due.
	m := method(t, `{"name": "rankbuffer", "manager": "llm_lookahead"}`)
	_, first := score(t, m, o, rank.Spec{}, group, nil)
	res, second := score(t, m, o, rank.Spec{Buffer: first, Epoch: 1}, group, nil)
	if second != nil || res.GroupStatus != rank.Partial {
		t.Errorf("buffer changed: %t, status %s", second != nil, res.GroupStatus)
	}
}

func TestManagerDetails(t *testing.T) {
	o := &oracle{}
	// A rollout that repeats an anchor is not offered a second time.
	_, next := score(t, method(t, `{"name": "rankbuffer", "manager": "llm"}`), o, rank.Spec{}, responsesOf(text(5, "ranked"), text(9, "b")), nil)
	last := o.Asked[len(o.Asked)-1]
	if last.Kind != prompt.Manager || len(last.Candidates) != 1 || len(next.Anchors) != 4 {
		t.Errorf("manager was shown %d rollouts, buffer %s", len(last.Candidates), sources(next))
	}
	// Validation leaves a delayed update for the next training group.
	m := method(t, `{"name": "rankbuffer", "manager": "llm_lookahead"}`)
	_, first := score(t, m, &oracle{}, rank.Spec{}, responsesOf(text(9, "a"), text(4, "b")), nil)
	res, _ := score(t, m, &oracle{}, rank.Spec{Buffer: first, Validate: true}, responsesOf(text(6, "c")), nil)
	if res.Calls["manager"] != 0 || *res.Positions[0] != 3 {
		t.Errorf("validation asked %v, position %d on the buffer as it was", res.Calls, *res.Positions[0])
	}
	// A frozen buffer needs no manager.
	frozen := method(t, `{"name": "rankbuffer", "manager": "llm", "freeze_after_epochs": 1}`)
	_, first = score(t, frozen, &oracle{}, rank.Spec{Epoch: 0}, responsesOf(text(9, "a"), text(4, "b")), nil)
	res, second := score(t, frozen, &oracle{}, rank.Spec{Buffer: first, Epoch: 1}, responsesOf(text(10, "c"), text(2, "d")), nil)
	if res.Calls["manager"] != 0 || sources(second) != sources(first) || second.Groups != 2 {
		t.Errorf("frozen: calls %v, %s became %s", res.Calls, sources(first), sources(second))
	}
}
