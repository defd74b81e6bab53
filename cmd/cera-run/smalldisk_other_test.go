//go:build unix && !linux

package main

import "testing"

func smallDisk(t *testing.T, _ string) string {
	t.Skip("SKIPPED: a small file system is mounted on Linux alone")
	return ""
}
