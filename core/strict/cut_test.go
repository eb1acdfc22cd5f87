package strict

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// document has every kind of member that UnmarshalTexts tells apart.
type document struct {
	Texts  []string        `json:"texts"`
	More   []string        `json:"more"`
	Text   string          `json:"text"`
	Number float64         `json:"number"`
	Deep   json.RawMessage `json:"deep"`
}

func fast(data []byte) (d document, err error) {
	err = UnmarshalTexts("doc", data, &d, map[string]any{"texts": &d.Texts, "more": &d.More, "text": &d.Text})
	return d, err
}

func slow(data []byte) (d document, err error) {
	err = Unmarshal("doc", data, &d)
	return d, err
}

// same fails unless both ways agree, errors included.
func same(t *testing.T, data []byte) {
	t.Helper()
	got, gotErr := fast(data)
	want, wantErr := slow(data)
	if (gotErr == nil) != (wantErr == nil) || gotErr != nil && gotErr.Error() != wantErr.Error() {
		t.Fatalf("%q: got error %v, want %v", data, gotErr, wantErr)
	}
	if gotErr == nil && !reflect.DeepEqual(got, want) {
		t.Fatalf("%q: got %+v, want %+v", data, got, want)
	}
}

var documents = []string{
	`{}`,
	`{"texts": []}`,
	`{"texts": ["a", "b\nc", "\"\\\/\b\f\r\t"], "text": "x", "number": 1}`,
	"\n{ \"texts\" :\t[ \"a\" , \"b\" ] , \"more\":[\"c\"] }\n ",
	`{"texts": ["\u00e9 \ud83d\ude00", "\ud83d alone", "é 😀"], "text": "\u0000"}`,
	`{"texts": null, "more": ["a"], "text": null}`,
	`{"texts": ["a", null], "more": [1]}`,
	`{"texts": ["a"], "texts": ["b"]}`,
	`{"texts": ["a"], "TEXTS": ["b"]}`,
	`{"TEXTS": ["a"], "text": "b", "Text": ""}`,
	`{"text": ["a"]}`,
	`{"texts": "a"}`,
	`{"texts": {"a": 1}}`,
	`{"texts": ["a"], "strange": 1}`,
	`{"deep": {"texts": ["}", "]", "\\", "\""], "a": [[{}]]}, "texts": ["a"]}`,
	`{"texts": ["a"]} x`,
	// Broken beside bad text: what is wrong is looked for in whole documents only.
	"[}\xff", `{"texts": [}"\ud800"]}`,
	`{"texts": ["a"]}{}`,
	`{"texts": ["a"],}`,
	`{"texts": ["a",]}`,
	`{"texts": ["a" "b"]}`,
	`{"texts": ["a"`,
	`{"texts": ["a`,
	`{"texts": ["a\`,
	`{"texts": ["\x"]}`,
	`{"texts": ["\u12"]}`,
	`{"texts": ["\u"]}`,
	"{\"texts\": [\"a\nb\"]}",
	"{\"texts\": [\"\xff\"]}",
	`{"texts" ["a"]}`,
	`{texts: ["a"]}`,
	`{"number": tru, "texts": ["a"]}`,
	`{"number": 1e999, "texts": ["a"]}`,
	`["texts"]`,
	`"texts"`,
	`null`,
	``,
	`{`,
	`{"`,
	`{"texts":`,
	`{"number":}`,
	`{"number":1]`,
	`}`,
}

func TestUnmarshalTextsAgreesWithUnmarshal(t *testing.T) {
	for _, data := range documents {
		same(t, []byte(data))
		for cut := range data { // and every beginning of it
			same(t, []byte(data[:cut]))
		}
	}
}

func TestUnmarshalTextsTakesTheFastWay(t *testing.T) {
	data := []byte(`{"number": 1, "texts": ["a", "b\nc"], "deep": {"texts": [1]}, "text": "x"}`)
	var d document
	rest, found, ok := cut(data, map[string]any{"texts": &d.Texts, "text": &d.Text})
	if want := `{"number": 1, "texts": null, "deep": {"texts": [1]}, "text": null}`; !ok || string(rest) != want {
		t.Errorf("rest is %s (%v), want %s", rest, ok, want)
	}
	if want := (map[string]any{"texts": []string{"a", "b\nc"}, "text": "x"}); !reflect.DeepEqual(found, want) {
		t.Errorf("found %v, want %v", found, want)
	}
}

func TestUnmarshalString(t *testing.T) {
	for _, data := range []string{`"a"`, `"a\n\u00e9"`, `""`, `"a" x`, `"a`, `1`, "\"\xff\"", `"a" `, ``, `"\ud800"`} {
		var got, want string
		gotErr, wantErr := UnmarshalString("text", []byte(data), &got), Unmarshal("text", []byte(data), &want)
		if got != want || (gotErr == nil) != (wantErr == nil) {
			t.Errorf("%s: got %q, %v, want %q, %v", data, got, gotErr, want, wantErr)
		}
	}
}

func FuzzUnmarshalTexts(f *testing.F) {
	for _, data := range documents {
		f.Add([]byte(data))
	}
	f.Fuzz(same)
}

func BenchmarkGroup(b *testing.B) {
	text := strings.Repeat("words of a response, line after line\n", 60)
	data, err := json.Marshal(document{Texts: []string{text, text, text, text, text, text, text, text}})
	if err != nil {
		b.Fatal(err)
	}
	for name, decode := range map[string]func([]byte) (document, error){"fast": fast, "slow": slow} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, err := decode(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
