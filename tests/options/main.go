// Prints the options of the judges with their defaults, for a test that compares
// them with those of the Python package: {"openai": {...}, "simulated": {...}}.
package main

import (
	"encoding/json"
	"log"
	"os"

	"github.com/rankbuffer/rankbuffer/core/judge/options"
	"github.com/rankbuffer/rankbuffer/core/judge/sim"
)

func main() {
	found := map[string]any{
		options.TypeOpenAI:    options.Judge{}.WithDefaults(),
		options.TypeSimulated: sim.Config{},
	}
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		log.Fatal(err)
	}
}
