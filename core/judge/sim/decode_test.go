package sim

import (
	"encoding/json"
	"reflect"
	"testing"
)

// requests in every form that matters, broken ones too.
var bodies = []string{
	`{"model": "m", "messages": [{"role": "system", "content": "a"}, {"role": "user", "content": "b\n\"c\" \\ \/ \b\f\r\t"}], "seed": 3}`,
	` { "seed" : -1 , "messages" : [ ] , "logprobs" : true , "top_logprobs" : 5 , "extra" : { "a" : [ 1 , "}" , { } ] } } `,
	`{"messages": [{"content": "\u00e9 \ud83c\udf3f \u0041\u2028 é 🌿", "role": "user"}], "temperature": 1e-45}`,
	`{"messages": [{"content": "lone \ud83c end, \udf3f, \ud83cx, \ud83c\u0041, \ud83c"}]}`,
	`{"messages": [{"content": "\u12"}]}`, `{"messages": [{"content": "\x"}]}`, `{"messages": [{"content": "\`,
	"{\"messages\": [{\"content\": \"a\xffb\"}]}", "{\"messages\": [{\"content\": \"a\nb\"}]}", "{\"messages\": [{\"content\": \"\xff\\n\"}]}",
	`{"messages": [{"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]}`,
	`{"messages": [{"content": null, "role": "user"}], "seed": null}`,
	`{"messages": [{"content": "a", "name": "n"}]}`, `{"messages": [{"content": "a", "content": "b"}]}`,
	`{"messages": [], "messages": [{"content": "b"}]}`, `{"messages": [], "Messages": [{"content": "b"}]}`, `{"Messages": [{"content": "b"}]}`,
	`{"messages": [{"Content": "a"}]}`, `{"model": "a", "model": "b", "messages": []}`, `{"MODEL": "a", "messages": []}`,
	`{"messages": null}`, `{"messages": [null]}`, `{"messages": {}}`, `{"messages": [[]]}`, `{}`, `null`, `[]`, `1`, ``, `{`, `{"`, `{"a"`, `{"a":`, `{"a":1`,
	`{"messages": []}x`, `{"messages": []`, `{"messages": [`, `{"messages": [{]}`, `{"messages": [,]}`, `{"messages": [{},]}`, `{"messages": [],}`,
	`{"messages": [], "a": tru}`, `{"messages": [], "a": 1 2}`, `{"messages": [], "a": [}]}`, `{"messages": [], "a": }`, `{"messages": [] "a": 1}`,
	`{"messages": [], "model": 1}`, `{"messages": [], "seed": 1.5}`, `{"messages": [], "k": "a\u0000\n"}`, `{"messages": [], "\u006dodel": "m"}`,
	`{"\u006dessages": [{"content": "x"}]}`, "\ufeff{}",
}

// sameDecoding holds the fast way to encoding/json: equal where it accepts, and
// it accepts nothing that the other refuses.
func sameDecoding(t *testing.T, body []byte) {
	t.Helper()
	want, wantErr := decodeAny(body)
	if got, ok := decodePlain(body); ok {
		if wantErr != nil {
			t.Fatalf("%q: accepted as %+v, want error %v", body, got, wantErr)
		}
		if len(got.Messages) == 0 {
			got.Messages = nil // nil or empty makes no difference
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: got %+v, want %+v", body, got, want)
		}
	}
	got, err := decodeChat(body)
	if (err == nil) != (wantErr == nil) || err == nil && len(got.Messages) != len(want.Messages) {
		t.Fatalf("%q: got %+v, %v; want %+v, %v", body, got, err, want, wantErr)
	}
}

func TestDecodingAgrees(t *testing.T) {
	for _, body := range bodies {
		sameDecoding(t, []byte(body))
	}
	for _, body := range bodies[:3] { // or the fast way might never be taken
		if _, ok := decodePlain([]byte(body)); !ok {
			t.Errorf("%s: not taken as a plain request", body)
		}
	}
	// What Go writes itself is plain, whatever the text.
	for _, text := range []string{"", "<&>\u2028\x00\x1f\"\\/", "🌿\r\n"} {
		body, err := json.Marshal(map[string]any{"messages": []map[string]string{{"role": "user", "content": text}}})
		if err != nil {
			t.Fatal(err)
		}
		if chat, ok := decodePlain(body); !ok || chat.Messages[0].Content != text {
			t.Errorf("%s: got %+v, %v", body, chat, ok)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, body := range bodies {
		f.Add([]byte(body))
	}
	f.Fuzz(sameDecoding)
}
