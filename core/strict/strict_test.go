package strict

import (
	"strings"
	"testing"
)

func TestUnmarshal(t *testing.T) {
	type inner struct {
		N int `json:"n"`
	}
	type doc struct {
		Name  string   `json:"name"`
		List  []string `json:"list"`
		Inner inner    `json:"inner"`
	}
	for data, want := range map[string]string{
		`{"name": "a", "list": ["b"], "inner": {"n": 1}}`: "",
		`{"nam": "a"}`:                         `unknown field "nam"`,
		`{"inner": {"m": 1}}`:                  `unknown field "m"`,
		`{"name": 3}`:                          "name: want a string, got number",
		`{"inner": {"n": 1.5}}`:                "inner.n: want an integer",
		`{"list": "x"}`:                        "list: want a list",
		`{"name": "a"} x`:                      "more data",
		`{"name": "a"`:                         "unexpected EOF",
		``:                                     "empty",
		"{\"name\": \"a\xff\"}":                "name: not valid UTF-8 at byte 11",
		"{\"list\": [\"a\", \"b\xff\"]}":       "list[1]: not valid UTF-8",
		`{"list": ["\ud83d\ude00", "\ud83d"]}`: "list[1]: half of a surrogate pair at byte 27",
		`{"list": ["a"], "name": "\ude00\ud83d"}`: "name: half of a surrogate pair",
		`{"name": "\\ud83d\u0041"}`:               "",
		`{"inner": {"n": 1, "x\ud83d": 2}}`:       "inner.x\ufffd: half of",
		`{"name": NaN}`:                           "invalid character",
	} {
		var v doc
		err := Unmarshal("config", []byte(data), &v)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", data, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "config: ")):
			t.Errorf("%s: got %v, want an error about config with %q", data, err, want)
		}
	}
}
