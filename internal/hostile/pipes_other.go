//go:build !unix

package hostile

// pipes is empty: there are none to make here.
func pipes() []Row { return nil }
