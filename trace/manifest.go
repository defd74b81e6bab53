package trace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ManifestSchema names the form of a Manifest.
const ManifestSchema = "cera-trace-1"

// maxManifest limits the bytes of a manifest; one of a model with 200 blocks and every site has 80,000.
const maxManifest = 4 << 20

// Manifest says where a trace came from. In an .npz it is the array "manifest", uint8 [bytes], which holds JSON:
//
//	json.loads(bytes(numpy.load("trace.npz")["manifest"]))
//
// It says nothing of time or batch size: two runs that must give the same numbers give the same file.
type Manifest struct {
	Schema  string   `json:"schema"`            // ManifestSchema
	Engine  string   `json:"engine"`            // program that ran the model
	Version string   `json:"version,omitempty"` // of that program
	Model   string   `json:"model"`             // path or name
	SHA256  string   `json:"sha256,omitempty"`  // of the model's bytes, in hex; of a split set's parts one after the other
	Tokens  int      `json:"tokens"`            // how many were run
	Device  string   `json:"device,omitempty"`  // "cpu", "gpu" or another engine's word
	Adapter string   `json:"adapter,omitempty"` // name of the GPU or processor
	Driver  string   `json:"driver,omitempty"`
	Library string   `json:"library,omitempty"` // that drives the GPU, with its version or revision
	Norms   string   `json:"norms,omitempty"`   // which norm kernel ran: batch or arena
	Sites   []string `json:"sites"`             // in forward order
}

func readManifest(h *npyHeader, r io.Reader) (*Manifest, error) {
	if h.elements > maxManifest {
		return nil, fmt.Errorf("it has %d bytes, expected at most %d", h.elements, maxManifest)
	}
	text, err := readElements[uint8](h, r)
	if err != nil {
		return nil, err
	}
	m := new(Manifest)
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("it is not the JSON of a manifest: %w", err)
	}
	if m.Schema != ManifestSchema {
		return nil, fmt.Errorf("its schema is %q, expected %q", m.Schema, ManifestSchema)
	}
	return m, nil
}

// encode returns the JSON.
func (m *Manifest) encode() ([]byte, error) {
	b, err := json.Marshal(m)
	if err == nil && len(b) > maxManifest {
		err = errors.New("it is too long")
	}
	return b, err
}
