package layers

import (
	"fmt"

	"cera/backend"
)

// Norms says which fused kernel runs between attention and MLP.
type Norms uint8

const (
	NormsAuto  Norms = iota // arena where a norm has a bias to add, else batch
	NormsBatch              // add_rmsnorm_batch; a bias goes into the projection
	NormsArena              // fused_residual_rms_norm
)

var normsNames = [...]string{"auto", "batch", "arena"}

func (n Norms) String() string { return normsNames[n] }

// ParseNorms is the inverse of String.
func ParseNorms(s string) (Norms, error) {
	for i, name := range normsNames {
		if s == name {
			return Norms(i), nil
		}
	}
	return 0, fmt.Errorf("norms: %q is not one of auto, batch, arena", s)
}

// norm is one norm of a state: where it stands and the operands bound to it.
type norm struct {
	NormSite
	w    backend.Tensor // [1, Embd]
	bias backend.Tensor // [1, Embd], added with the delta; optional
}

// modelNorms lists the norms of a model in forward order: two a block, and the last. The bias of an output
// projection belongs to the norm after it in the arena form, and to the projection in the batch form.
func modelNorms(m *Model, arena bool) []norm {
	op := "add_rmsnorm_batch"
	if arena {
		op = "fused_residual_rms_norm"
	}
	var list []norm
	stream, delta := SiteEmbd, ""
	add := func(n norm, streamAfter, nextDelta string) {
		n.Op, n.In, n.Delta, n.Eps = op, stream, delta, m.Eps
		if delta == "" {
			if !arena {
				n.Op = "rmsnorm_batch"
			}
		} else {
			n.Stream, stream = streamAfter, streamAfter
		}
		delta = nextDelta
		list = append(list, n)
	}
	for i := range m.Blocks {
		b := &m.Blocks[i]
		attnOut := At(SiteAttnOut, i)
		ffn := norm{NormSite: NormSite{Site: At(SiteFFNNorm, i), Layer: i, Weight: blockName(i, "ffn_norm.weight")}, w: b.FFNNorm}
		if arena && b.OBias.Valid() {
			ffn.Bias, ffn.bias, attnOut = blockName(i, "attn_output.bias"), b.OBias, At(SiteAttnProj, i)
		}
		add(norm{NormSite: NormSite{Site: At(SiteAttnNorm, i), Layer: i, Weight: blockName(i, "attn_norm.weight")}, w: b.AttnNorm},
			At(SiteLOut, i-1), attnOut)
		add(ffn, At(SiteFFNInp, i), At(SiteFFNOut, i))
	}
	add(norm{NormSite: NormSite{Site: SiteResultNorm, Layer: -1, Weight: nameOutputNorm}, w: m.OutputNorm},
		At(SiteLOut, m.Layers-1), "")
	return list
}

// norm runs norm i over the first rows of the stream: the pending delta is added, and the sum normed into h. The
// embedding is the first delta of the arena form (the stream before it is zero), and the stream itself in the batch
// form.
func (s *State) norm(i, rows int, probe Probe) {
	n := &s.norms[i]
	x, d, h := s.x.Slice(0, rows), s.delta.Slice(0, rows), s.h.Slice(0, rows)
	switch {
	case s.arena.Valid():
		in := x
		if i == 0 {
			in = s.zeros.Slice(0, rows)
		}
		s.be.FusedResidualRMSNorm(backend.FusedNorm{
			Out: h, In: in, Residual: d, Bias: n.bias, Gamma: n.w, Beta: s.beta, Sum: x, Eps: n.Eps,
		})
	case i == 0:
		s.be.RMSNorm(h, x, n.w, n.Eps)
	default:
		s.be.AddRMSNorm(h, x, d, n.w, n.Eps)
	}
	if probe == nil {
		return
	}
	stream := n.Stream
	if i == 0 {
		stream = n.In
	}
	probe.Site(stream, x, backend.Tensor{})
	probe.Site(n.Site, h, backend.Tensor{})
	probe.Norm(n.Site, n.w)
}
