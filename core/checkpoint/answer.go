package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Answer is what a group with a label came back with. It is in the entry of the
// change that the group made, so that a process that dies before it has handed
// the rewards over does not take them along.
type Answer struct {
	Label     string          `json:"label"`     // the caller's name for the group, not empty
	Result    json.RawMessage `json:"result"`    // a JSON object
	Responses []string        `json:"responses"` // the Digest of each, in the order of the group
}

// digestSize is 96 bits: no two responses of a run share a digest by chance.
const digestSize = 24

// Digest stands for a response where its text is not to be kept: the first 24
// hex digits of its SHA-256.
func Digest(response string) string {
	sum := sha256.Sum256([]byte(response))
	return hex.EncodeToString(sum[:])[:digestSize]
}

// validate refuses what is no answer; nil is none and is fine.
func (a *Answer) validate() error {
	if a == nil {
		return nil
	}
	switch {
	case a.Label == "":
		return errors.New("answer: label: must not be empty")
	case len(a.Result) == 0 || a.Result[0] != '{' || !json.Valid(a.Result):
		return errors.New("answer: result: is not a JSON object")
	case !utf8.Valid(a.Result):
		return errors.New("answer: result: is not UTF-8")
	case len(a.Responses) == 0:
		return errors.New("answer: responses: must hold at least 1")
	}
	for i, d := range a.Responses {
		if len(d) != digestSize || strings.Trim(d, "0123456789abcdef") != "" {
			return fmt.Errorf("answer: responses[%d]: is not a digest of %d hex digits", i, digestSize)
		}
	}
	return nil
}
