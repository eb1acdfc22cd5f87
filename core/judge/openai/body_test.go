package openai

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/rankbuffer/rankbuffer/core/judge"
	"github.com/rankbuffer/rankbuffer/core/judge/options"
	"github.com/rankbuffer/rankbuffer/core/prompt"
)

// notInTheBody are the options that say where to send a request.
var notInTheBody = []string{"base_url", "model", "api_key", "api_key_env", "headers", "proxy"}

// TestEveryOptionOfARequestIsSent names the place that a new option was forgotten
// in: the body of a request, or the names that extra_body may not have.
func TestEveryOptionOfARequestIsSent(t *testing.T) {
	values := map[string]string{"extra_body": `{"x": 1}`, "omit_temperature": "true", "system_role": "false"}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[options.Judge]()) {
		name := f.Tag.Get("json")
		if f.Tag.Get("every") != "" || slices.Contains(notInTheBody, name) {
			continue
		}
		cfg := config()
		cfg.ExtraBody, cfg.SystemRole = nil, ptr(true)
		before := bodyOf(t, cfg)
		value := values[name]
		if value == "" {
			value = "1"
		}
		if err := json.Unmarshal([]byte(value), reflect.ValueOf(&cfg).Elem().FieldByName(f.Name).Addr().Interface()); err != nil {
			t.Fatalf("state a value of judge.%s in this test: %v", name, err)
		}
		after := bodyOf(t, cfg)
		if before == after {
			t.Errorf("judge.%s changes no request: core/judge/openai/body.go does not send it", name)
		}
		var sent map[string]json.RawMessage
		if err := json.Unmarshal([]byte(after), &sent); err != nil {
			t.Fatal(err)
		}
		if _, found := sent[name]; found {
			cfg.ExtraBody = map[string]json.RawMessage{name: []byte("1")}
			if cfg.WithDefaults().Validate() == nil {
				t.Errorf("extra_body may set %s too: reservedBody in core/judge/options/validate.go lacks it", name)
			}
		}
	}
}

func bodyOf(t *testing.T, cfg options.Judge) string {
	t.Helper()
	e, err := newEncoder(cfg)
	if err != nil {
		t.Fatal(err)
	}
	body, err := e.encode(judge.Request{Messages: []prompt.Message{{Role: "system", Content: "s"}, {Role: "user", Content: "u"}}})
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
