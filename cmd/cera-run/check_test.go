package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"cera/trace"
)

// TestSpoiledTrace changes one value of what llama.cpp captured: the norm is named.
func TestSpoiledTrace(t *testing.T) {
	for _, c := range []struct{ variant, site, want string }{
		{"llama", "ffn_norm-1", "first fault: ffn_norm-1 (add, rms_norm), norm: "},
		{"llama-obias", "attn_out-0", "first fault: ffn_norm-0 (add, rms_norm), stream: "},
		{"llama-odd", "result_norm", "first fault: result_norm (add, rms_norm), norm: "},
		{"llama-mqa-hd24", "l_out-0", "first fault: attn_norm-1 (add, rms_norm), stream: "},
		{"llama3-ropefreqs", "attn_norm-0", "first fault: attn_norm-0 (rms_norm), norm: "},
	} {
		tr, err := trace.Read("../../testdata/golden/" + c.variant + ".npz")
		if err != nil {
			t.Fatal(err)
		}
		data, _, n, _ := tr.Data(c.site) // the trace's own
		data[2*n+5] += 0.25
		path := filepath.Join(t.TempDir(), "spoiled.npz")
		if err := tr.Write(path); err != nil {
			t.Fatal(err)
		}
		var out, errOut writer
		code := run(context.Background(),
			[]string{"check", "--trace", path, "--weights", "../../testdata/archs/" + c.variant + ".gguf"}, &out,
			&errOut)
		if code != exitFailed || !strings.Contains(out.text, c.want) ||
			!strings.Contains(out.text, "token 2, channel 5") {
			t.Errorf("%s of %s: exit code %d, want %d and %q; printed\n%s%s", c.site, c.variant, code, exitFailed,
				c.want, out.text, errOut.text)
		}
	}
}
