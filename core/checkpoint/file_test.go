package checkpoint

import (
	"bytes"
	"errors"
	"math/rand"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rankbuffer/rankbuffer/core/buffer"
)

// existing writes a checkpoint and returns its path and bytes.
func existing(t *testing.T) (string, []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "c.zst")
	if err := Write(path, meta, small()); err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, old
}

// onlyFile checks that the directory holds the file with these bytes, alone.
func onlyFile(t *testing.T, path string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("the old file is not as it was: %d bytes, %v; want %d", len(got), err, len(want))
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind in the directory: %v, %v", entries, err)
	}
}

func TestFullDisk(t *testing.T) {
	path, old := existing(t)
	// No file of this process may grow beyond 20,000 bytes: what a full disk
	// looks like to a writer that is halfway through.
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 20_000, Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	err := Write(path, meta, random(rand.New(rand.NewSource(1)), 60))
	if restoreErr := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); restoreErr != nil {
		t.Fatal(restoreErr)
	}
	if !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v, want EFBIG naming %s", err, path)
	}
	onlyFile(t, path, old)
}

func TestUnwritableDirectory(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root writes anywhere")
	}
	path, old := existing(t)
	if err := os.Chmod(filepath.Dir(path), 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Dir(path), 0o700)
	if err := Write(path, meta, nil); !errors.Is(err, os.ErrPermission) {
		t.Errorf("got %v, want os.ErrPermission", err)
	}
	onlyFile(t, path, old)
}

func TestRefusedRecordLeavesOldFile(t *testing.T) {
	path, old := existing(t)
	if err := Write(path, meta, append(small(), buffer.Record{})); !errors.Is(err, errRecord) {
		t.Errorf("got %v, want errRecord", err)
	}
	onlyFile(t, path, old)
}

func TestWriteWhereNoFileCanBe(t *testing.T) {
	path, old := existing(t)
	dir := filepath.Dir(path)
	for name, target := range map[string]string{
		"no directory":          filepath.Join(dir, "none", "c.zst"),
		"a file as a directory": filepath.Join(path, "c.zst"),
		"the directory itself":  dir + "/",
		"nothing":               "",
	} {
		if err := Write(target, meta, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	onlyFile(t, path, old)

	taken := filepath.Join(t.TempDir(), "taken")
	if err := os.Mkdir(taken, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Write(taken, meta, nil); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("a directory in its place: %v", err)
	}
	if entries, err := os.ReadDir(filepath.Dir(taken)); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestWriteReplaces(t *testing.T) {
	path, _ := existing(t)
	want := small()[:1]
	if err := Write(path, Meta{Method: "scr"}, want); err != nil {
		t.Fatal(err)
	}
	m, got, err := Read(path)
	if err != nil || m.Method != "scr" || toJSON(t, got) != toJSON(t, want) {
		t.Errorf("got %+v %s, %v", m, toJSON(t, got), err)
	}
}

func TestWriteInWorkingDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := Write("c.zst", meta, small()); err != nil {
		t.Fatal(err)
	}
	if _, got, err := Read("c.zst"); err != nil || len(got) != 3 {
		t.Errorf("%d records, %v", len(got), err)
	}
}

// A writer that was killed leaves its temporary file. The next one removes it,
// but not one that may be in use, nor anything else.
func TestSweep(t *testing.T) {
	path, _ := existing(t)
	dir := filepath.Dir(path)
	hoursAgo := time.Now().Add(-2 * staleAfter)
	for name, stays := range map[string]bool{
		".c.zst.rbtmp-0123.tmp":     false,
		".c.zst.rbtmp-4567.tmp":     true, // young
		".other.zst.rbtmp-0123.tmp": true,
		"c.zst.old":                 true,
	} {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(name, "4567") {
			if err := os.Chtimes(p, hoursAgo, hoursAgo); err != nil {
				t.Fatal(err)
			}
		}
		if err := Write(path, meta, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(p); (err == nil) != stays {
			t.Errorf("%s: %v, want it to stay: %v", name, err, stays)
		}
	}
}

// failing is an output that takes so many writes and then no more.
type failing struct {
	memory
	left int
}

var errDisk = errors.New("disk failed")

func (f *failing) Write(p []byte) (int, error) {
	if f.left--; f.left < 0 {
		return 0, errDisk
	}
	return f.memory.Write(p)
}

func (f *failing) WriteAt(p []byte, at int64) (int, error) {
	if f.left--; f.left < 0 {
		return 0, errDisk
	}
	return f.memory.WriteAt(p, at)
}

var _ output = (*failing)(nil)

// Every single write may fail; the error comes out, and what was written up to
// then is no checkpoint.
func TestEveryWriteMayFail(t *testing.T) {
	records := random(rand.New(rand.NewSource(2)), 30)
	for n := 0; ; n++ {
		out := &failing{left: n}
		err := encode(out, meta, records)
		if err == nil {
			if n < 5 {
				t.Fatalf("only %d writes: the test does not test what it should", n)
			}
			return
		}
		if !errors.Is(err, errDisk) {
			t.Fatalf("write %d: got %v, want the disk's error", n, err)
		}
		if _, err := readAll(out.b); err == nil {
			t.Fatalf("%d writes made a readable checkpoint", n)
		}
	}
}
