package prompt

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"strings"
)

// Every text stands between two markers that carry the request's tag:
//
//	[[A0 #5f2c90ab]]
//	the text, byte for byte
//	[[/A0 #5f2c90ab]]
//
// The tag is a hash of the part that requests of one query share (query,
// rubrics, anchors), so that these requests share their prefix too, and it is
// hashed anew with a counter until nothing enclosed contains it: a text cannot
// hold its own delimiter, even one written with the tag in hand.

func openMarker(id, tag string) string  { return "[[" + id + " #" + tag + "]]" }
func closeMarker(id, tag string) string { return "[[/" + id + " #" + tag + "]]" }

func writeBlock(b *strings.Builder, id, tag, body string) {
	b.WriteString(openMarker(id, tag))
	b.WriteByte('\n')
	b.WriteString(body)
	b.WriteByte('\n')
	b.WriteString(closeMarker(id, tag))
}

// tagBytes is the length of a tag before hex: short, as it is repeated at every
// marker, and long enough that the counter hardly ever moves by accident.
const tagBytes = 4

// pickTag hashes the stable texts, bumping until no enclosed text contains the
// tag. It ends: each text excludes at most as many tags as it has bytes.
func pickTag(stable, enclosed []string) string {
	h := sha256.New()
	for _, text := range stable {
		writeField(h, text)
	}
	seed := h.Sum(nil)
	for counter := uint64(0); ; counter++ {
		tag := seed[:tagBytes]
		if counter > 0 {
			sum := sha256.Sum256(binary.BigEndian.AppendUint64(seed, counter))
			tag = sum[:tagBytes]
		}
		if name := hex.EncodeToString(tag); !containedIn(enclosed, name) {
			return name
		}
	}
}

// writeField adds a text with its length, so that no two lists of texts hash alike.
func writeField(h hash.Hash, text string) {
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(text)))
	h.Write(n[:])
	h.Write([]byte(text))
}

func containedIn(texts []string, tag string) bool {
	for _, text := range texts {
		if strings.Contains(text, tag) {
			return true
		}
	}
	return false
}
