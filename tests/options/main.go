// Prints the options of every method with their defaults, for a test that
// compares them with those of the Python package:
// {"scr": {"name": "scr", "votes": 1, ...}, ...}.
package main

import (
	"encoding/json"
	"log"
	"os"

	"github.com/rankbuffer/rankbuffer/core/rank"
	"github.com/rankbuffer/rankbuffer/core/rank/methods"
)

func main() {
	found := map[string]rank.Method{}
	for _, row := range methods.Rows() {
		found[row.Name] = row.New()
	}
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		log.Fatal(err)
	}
}
