package engine

import (
	"fmt"

	"cera/backend"
	"cera/check"
	"cera/gguf"
	"cera/layers"
	"cera/trace"
	"cera/weights"
)

// CheckTrace checks a trace that another program made of a run of a model, without running anything: every norm is
// recomputed in float64 from its captured inputs, with eps and weights of the file. Sites have llama.cpp's names, or
// others that trace.SiteName knows, and a bias of the output projection is part of attn_out. name stands for the trace
// in the report; see check.Captured for what is UNMEASURED.
//
// An error says that the file cannot be resolved, or that no site of the trace is a norm's.
func CheckTrace(f *gguf.File, tr *trace.Trace, name string) (*check.Report, error) {
	r, err := Resolve(f)
	if err != nil {
		return nil, err
	}
	sites := layers.NormSitesOf(r.model)
	for i := range sites {
		// Which kernels made it is not known.
		sites[i].Op = "rms_norm"
		if sites[i].Delta != "" {
			sites[i].Op = "add, rms_norm"
		}
	}
	if tr, err = renamed(tr); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	tokens := check.TraceTokens(tr, sites)
	if len(tokens) == 0 {
		return nil, fmt.Errorf("%s: no array of it is a norm of %s, expected names as %s: found %d arrays", name,
			f.Path, sites[0].Site, len(tr.Sites()))
	}
	return check.Captured(check.Input{
		Model:       f.Path,
		Info:        backend.Info{Backend: "trace", Adapter: name},
		Sites:       sites,
		Trace:       tr,
		Tokens:      tokens,
		FileWeights: func(name string) ([]float32, error) { return weights.DecodeTensor(f, name) },
	}), nil
}

// renamed is a trace by our own names, the same one where it has them.
func renamed(tr *trace.Trace) (*trace.Trace, error) {
	sites, foreign := tr.Sites(), false
	has := map[string]bool{}
	for _, s := range sites {
		has[s] = true
		foreign = foreign || trace.SiteName(s) != s
	}
	if !foreign {
		return tr, nil
	}
	out := trace.New()
	out.Tokens = tr.Tokens
	from := map[string]string{}
	for _, s := range sites {
		name := trace.SiteName(s)
		if name != s && has[name] {
			continue // under its own name too, which counts
		}
		if from[name] != "" {
			return nil, fmt.Errorf("arrays %q and %q are both %s", from[name], s, name)
		}
		from[name] = s
		data, rows, n, _ := tr.Data(s)
		if err := out.Append(name, rows, n, data); err != nil {
			return nil, err
		}
	}
	return out, nil
}
