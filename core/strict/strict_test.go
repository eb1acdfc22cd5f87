package strict

import (
	"errors"
	"strings"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/fault"
)

func TestUnmarshal(t *testing.T) {
	type inner struct {
		N int `json:"n"`
	}
	type doc struct {
		Name  string   `json:"name"`
		List  []string `json:"list"`
		Inner inner    `json:"inner"`

		Each []*inner         `json:"each"`
		Free map[string]inner `json:"free"`
	}
	for data, want := range map[string]struct {
		code fault.Code
		text string
	}{
		`{"name": "a", "list": ["b"], "inner": {"n": 1}}`:             {},
		`{"name": null, "list": null, "inner": null, "each": [null]}`: {},
		`{"list": ["a", null]}`:                                       {fault.InvalidValue, "config.list[1]: is null, want a string"},
		`{"nam": "a"}`:                                                {fault.UnknownField, `config.nam: unknown field; did you mean "name"?`},
		`{"Name": "a"}`:                                               {fault.UnknownField, `config.Name: unknown field; did you mean "name"?`},
		`{"name": "a", "strange": {}}`:                                {fault.UnknownField, `config.strange: unknown field; the fields are name, list, inner, each, free`},
		`{"inner": {"m": 1}}`:                                         {fault.UnknownField, `config.inner.m: unknown field`},
		`{"each": [{"n": 1}, {"N": 1}]}`:                              {fault.UnknownField, `config.each[1].N: unknown field; did you mean "n"?`},
		`{"free": {"a": {"x": 1}}}`:                                   {fault.UnknownField, `config.free.a.x: unknown field`},
		`{"inner": {"n": 1, "n": 2}}`:                                 {fault.InvalidValue, "config.inner.n: this name is given twice"},
		`{"name": 3}`:                                                 {fault.InvalidValue, "config.name: want a string, got number"},
		`{"inner": {"n": 1.5}}`:                                       {fault.InvalidValue, "config.inner.n: want an integer"},
		`{"each": [{"n": 1}, {"n": "x"}]}`:                            {fault.InvalidValue, "config.each[1].n: want an integer, got string"},
		`{"list": "x"}`:                                               {fault.InvalidValue, "config.list: want a list"},
		`{"inner": "x"}`:                                              {fault.InvalidValue, "config.inner: want an object, got string"},
		`[]`:                                                          {fault.InvalidValue, "config: want an object, got array"},
		`{"name": "a"} x`:                                             {fault.InvalidJSON, "config: not valid JSON: invalid character 'x' after"},
		`{"name": "a"`:                                                {fault.InvalidJSON, "config: not valid JSON: unexpected end of JSON input (byte 12 of 12)"},
		``:                                                            {fault.InvalidJSON, "config: not valid JSON: unexpected end"},
		"{\"name\": \"a\xff\"}":                                       {fault.InvalidValue, "config.name: not valid UTF-8 at byte 11"},
		"{\"list\": [\"a\", \"b\xff\"]}":                              {fault.InvalidValue, "config.list[1]: not valid UTF-8"},
		`{"list": ["\ud83d\ude00", "\ud83d"]}`:                        {fault.InvalidValue, "config.list[1]: half of a surrogate pair at byte 27"},
		`{"list": ["a"], "name": "\ude00\ud83d"}`:                     {fault.InvalidValue, "config.name: half of a surrogate pair"},
		`{"name": "\\ud83d\u0041"}`:                                   {},
		`{"inner": {"n": 1, "x\ud83d": 2}}`:                           {fault.InvalidValue, "config.inner.x\ufffd: half of"},
		`{"name": NaN}`:                                               {fault.InvalidJSON, "invalid character"},
	} {
		var v doc
		err := Unmarshal("config", []byte(data), &v)
		switch {
		case want.code == "" && err != nil:
			t.Errorf("%s: %v", data, err)
		case want.code != "" && (!errors.Is(err, want.code) || !strings.Contains(err.Error(), want.text)):
			t.Errorf("%s: got %v, want %s with %q", data, err, want.code, want.text)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"k0", "prune_after", "n"}
	for name, want := range map[string]string{"prune_aftr": "prune_after", "PRUNE_AFTER": "prune_after", "k1": "k0", "zz": "", "": ""} {
		if got := nearest(name, known); got != want {
			t.Errorf("nearest(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestCheckText(t *testing.T) {
	for _, tc := range []struct{ in, want string }{
		{"", ""},
		{"grün \U0001F600 \x7f", ""},
		{"\xff", "id: is not valid UTF-8 at byte 0"},
		{"ab\xc3", "id: is not valid UTF-8 at byte 2"},
		{"\ufffd\xed\xa0\x80", "id: is not valid UTF-8 at byte 3"}, // a lone surrogate
	} {
		err := CheckText("id", []byte(tc.in))
		if (err == nil) != (tc.want == "") || err != nil && (err.Error() != tc.want || !errors.Is(err, fault.InvalidValue)) {
			t.Errorf("CheckText(%q) = %v, want %q", tc.in, err, tc.want)
		}
	}
}

// TestBadTextInDeepJSON: the search for the member stops at what encoding/json refuses.
func TestBadTextInDeepJSON(t *testing.T) {
	var v any
	err := Unmarshal("x", []byte(strings.Repeat("[", 1<<20)+`"\ud800"`), &v)
	if err == nil || !strings.Contains(err.Error(), "half of a surrogate pair") {
		t.Errorf("got %v", err)
	}
}
