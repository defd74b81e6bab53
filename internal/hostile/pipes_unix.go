//go:build unix

package hostile

import (
	"os"
	"path/filepath"
	"syscall"
)

// pipes are names of pipes, which nobody writes to, and others of no file, where the system's words are known.
func pipes() []Row {
	return []Row{
		{"pipe", Format, []string{"a pipe, not a regular file"}, func(dir string) (string, error) {
			path := filepath.Join(dir, fileName)
			return path, syscall.Mkfifo(path, 0o600)
		}},
		{"no file", Format, []string{"no such file"}, func(dir string) (string, error) {
			return filepath.Join(dir, fileName), nil
		}},
		{"link to itself", Format, nil, func(dir string) (string, error) {
			path := filepath.Join(dir, fileName)
			return path, os.Symlink(path, path)
		}},
		{"link to a pipe", Format, []string{"a pipe, not a regular file"}, func(dir string) (string, error) {
			path, pipe := filepath.Join(dir, fileName), filepath.Join(dir, "pipe")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				return "", err
			}
			return path, os.Symlink(pipe, path)
		}},
		{"set with a part that is a pipe", Format, []string{"part 2 of 2", splitName(2, 2), "a pipe"},
			func(dir string) (string, error) {
				if err := syscall.Mkfifo(filepath.Join(dir, splitName(2, 2)), 0o600); err != nil {
					return "", err
				}
				return write(dir, splitName(1, 2), splitPart(0, 2, 2, "a"))
			}},
	}
}
