package fault

import (
	"cmp"
	"slices"
	"strings"
)

// AtLeast refuses a number below a least one.
func AtLeast[T cmp.Ordered](field string, got, least T) error {
	if got >= least {
		return nil
	}
	return New(InvalidValue, field, "need at least %v, got %v", least, got)
}

// Within refuses a number outside lo..hi, NaN included.
func Within[T cmp.Ordered](field string, got, lo, hi T) error {
	if got >= lo && got <= hi {
		return nil
	}
	return New(InvalidValue, field, "need a number from %v to %v, got %v", lo, hi, got)
}

// OneOf refuses a word that is not among the known ones, of which "" is null.
func OneOf[T ~string](field string, got T, known ...T) error {
	if slices.Contains(known, got) {
		return nil
	}
	words := make([]string, len(known))
	for i, word := range known {
		words[i] = cmp.Or(string(word), "null")
	}
	return New(InvalidValue, field, "need one of %s, got %q", strings.Join(words, ", "), got)
}
