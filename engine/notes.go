package engine

import (
	"slices"

	"cera/backend"
)

// Notes says, a line a format, which tensors the device holds in another format than the file.
func (e *Engine) Notes() []string { return e.notes }

// GPUNotes says what Engine.Notes would on a GPU, which takes no more formats than every backend does.
func (r *Resolved) GPUNotes() []string {
	return r.Binding.Notes(func(f backend.Format) bool { return slices.Contains(backend.Formats(), f) })
}
