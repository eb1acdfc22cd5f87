// Package prompt renders what the judge reads. Templates are text with
// {{variables}}, one per kind of call, and can be overridden by file; responses
// are placed between markers that no text they enclose can contain.
package prompt

// Kind names a kind of judge call. It selects the template and labels the call
// in the ledger.
type Kind string

// The kinds of judge call.
const (
	Coarse      Kind = "coarse"       // one candidate among ordered anchors -> {"position": p}
	CoarseOrder Kind = "coarse_order" // the same, anchors by id only
	Fine        Kind = "fine"         // candidates -> {"order": [ids worst to best]}; also bootstrap and listwise
	Manager     Kind = "manager"      // LLM-managed buffer -> {"keep_anchor_ids", "add_rollout_ids"}
	Score       Kind = "score"        // one candidate, all rubrics -> {"score": 0..10}
	RubricScore Kind = "rubric_score" // one candidate, one rubric -> {"score": 0..10}
	Pair        Kind = "pair"         // two candidates A and B -> {"winner": "A"|"B"}
	Match       Kind = "match"        // two candidates A and B -> {"score_a": 0..10, "score_b": 0..10} (ArenaRL)
	Select      Kind = "select"       // candidates -> {"winners": [ids]} (Tournament-GRPO)
	Preference  Kind = "preference"   // A or B as one label token, no reasoning (PRC); answer: A or B
	Reasoned    Kind = "reasoned"     // the same after written reasoning (PRC); answer ends with {"winner": ...}
	Label       Kind = "label"        // is this response good: Yes or No as one label token (GenRM)
	Rubrics     Kind = "rubrics"      // query and ranked responses -> {"rubrics": [{"text", "weight"}]}
)

// Message is one chat message of a request.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}
