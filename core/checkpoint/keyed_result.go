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

// KeyedResult is what a group with a result key came back with. It is in the
// entry of the change that the group made, so that a process which dies before it
// has handed the rewards over does not lose them.
type KeyedResult struct {
	Key       string          `json:"result_key"` // chosen by the caller, not empty
	Result    json.RawMessage `json:"result"`     // a JSON object
	Responses []string        `json:"responses"`  // the Digest of each, in the order of the group
}

// digestSize is 96 bits: no two responses of a run share a digest by chance.
const digestSize = 24

// Digest stands for a response where its text is not to be kept: the first 24
// hex digits of its SHA-256.
func Digest(response string) string {
	sum := sha256.Sum256([]byte(response))
	return hex.EncodeToString(sum[:])[:digestSize]
}

// validate refuses what no group can have come back with; nil is fine.
func (r *KeyedResult) validate() error {
	if r == nil {
		return nil
	}
	switch {
	case r.Key == "":
		return errors.New("keyed_result.result_key: must not be empty")
	case len(r.Result) == 0 || r.Result[0] != '{' || !json.Valid(r.Result):
		return errors.New("keyed_result.result: is not a JSON object")
	case !utf8.Valid(r.Result):
		return errors.New("keyed_result.result: is not UTF-8")
	case len(r.Responses) == 0:
		return errors.New("keyed_result.responses: need at least 1")
	}
	for i, d := range r.Responses {
		if len(d) != digestSize || strings.Trim(d, "0123456789abcdef") != "" {
			return fmt.Errorf("keyed_result.responses[%d]: is not a digest of %d hex digits", i, digestSize)
		}
	}
	return nil
}
