// Prints the options of every method and judge with their defaults, for a test
// that compares them with those of the Python package:
// {"scr": {"name": "scr", "votes": 1, ...}, ..., "openai": {...}, "simulated": {...}}.
package main

import (
	"encoding/json"
	"log"
	"os"

	"github.com/rankbuffer/rankbuffer/core/judge/options"
	"github.com/rankbuffer/rankbuffer/core/judge/sim"
	"github.com/rankbuffer/rankbuffer/core/rank/methods"
)

func main() {
	found := map[string]any{
		options.TypeOpenAI:    options.Judge{}.WithDefaults(),
		options.TypeSimulated: sim.Config{},
	}
	for _, row := range methods.Rows() {
		found[row.Name] = row.New()
	}
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		log.Fatal(err)
	}
}
