package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// withRegular opens a regular file for reading; of a pipe, opening would wait for
// a writer.
func withRegular(path string, use func(f *os.File, size int64) error) error {
	stat, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !stat.Mode().IsRegular() {
		return fmt.Errorf("%w: not a regular file", errForeign)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if stat, err = f.Stat(); err != nil { // of what was opened, should it have been replaced in between
		return err
	}
	return use(f, stat.Size())
}

// staleAfter is the age from which a temporary file counts as left behind by a
// process that died. A write in progress touches its file far more often.
const staleAfter = time.Hour

// replaceFile puts a file written by fill at path, atomically: a crash at any
// moment leaves the old file or the new one.
func replaceFile(path string, fill func(*os.File) error) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("%q is a directory, want the name of a file", path)
	}
	dir, base := filepath.Split(path)
	if base == "" {
		return fmt.Errorf("%q names no file", path)
	}
	if dir == "" {
		dir = "."
	}
	sweep(dir, base)
	f, err := createTemp(dir, base)
	if err != nil {
		return err
	}
	err = fill(f)
	if err == nil {
		err = f.Sync() // else a crash after the rename could leave an empty file
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	return syncDir(dir)
}

// createTemp is os.CreateTemp but for the mode: a checkpoint is as readable as
// the umask says, like the model's files beside it.
func createTemp(dir, base string) (*os.File, error) {
	for try := 0; ; try++ {
		name := filepath.Join(dir, fmt.Sprintf("%s%016x%s", tempPrefix(base), rand.Uint64(), tempSuffix))
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) && try < 100 {
			continue
		}
		return f, err
	}
}

func tempPrefix(base string) string { return "." + base + ".rbtmp-" }

const tempSuffix = ".tmp"

// sweep removes temporary files of the same checkpoint that died with their
// writer, so that they do not pile up over restarts. Failing to is no error.
func sweep(dir, base string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, tempPrefix(base)) || !strings.HasSuffix(name, tempSuffix) || !e.Type().IsRegular() {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > staleAfter {
			os.Remove(filepath.Join(dir, name))
		}
	}
}

// syncDir makes a rename durable. Some file systems cannot sync a directory,
// and then there is nothing more to do.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}
