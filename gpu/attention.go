//go:build cgo

package gpu

import (
	"math/bits"

	"cera/shaders"
)

// attend records an attention whose operands are checked. sinks may be nil.
func (b *Backend) attend(
	op string, p shaders.AttentionParams, plan attentionPlan, half bool, q, k, v, pos, dst, sinks *buffer,
) {
	binds := []binding{whole(q), whole(k), whole(v), whole(pos)}
	end := []binding{whole(dst)}
	if sinks != nil {
		end = append(end, whole(sinks))
	}
	merge := shaders.AttentionMerge{HeadDim: int(p.HeadDim), Sinks: sinks != nil}
	for p.Splits, p.Parts = u32(plan.splits), u32(plan.parts); p.Splits > 1; p.Splits /= 2 {
		if int64(merge.Words(p))*wordBytes <= b.limits.MaxBinding {
			break
		}
	}
	if plan.kernel == attentionGeneral {
		b.dispatch(op, shaders.Attention{Sinks: sinks != nil, Half: half}, p, p.Grid(), append(binds, end...)...)
		return
	}
	exact := half && b.flushesHalves(op)
	if b.err != nil {
		return
	}
	direct := p.Splits == 1
	first := end // what the first kernel writes, and sinks where it is the only one
	if !direct {
		found, err := b.interim(merge.Words(p))
		if err != nil {
			b.fail(op, err)
			return
		}
		first = []binding{whole(found)}
	}
	if plan.kernel == attentionSplit {
		s := plan.split
		s.ExactHalves, s.Direct, s.Sinks = exact, direct, direct && sinks != nil
		b.dispatch(op, s, p, s.Grid(p), append(binds, first...)...)
	} else {
		t := plan.tile
		t.ExactHalves, t.Direct, t.Sinks = exact, direct, direct && sinks != nil
		b.dispatch(op, t, p, t.Grid(p), append(binds, first...)...)
	}
	if !direct {
		b.dispatch(op, merge, p, merge.Grid(p), append(first, end...)...)
	}
}

// interim returns a buffer of at least so many words for what one step of an op leaves to the next. There is one for
// each power of two, kept for good: recorded steps refer to it.
func (b *Backend) interim(words int) (*buffer, error) {
	class := bits.Len(uint(words - 1))
	words = min(1<<class, max(words, int(b.limits.MaxBinding/wordBytes)))
	return b.keep(b.interims, class, "interim", words)
}

// keep returns the buffer under a key, made with so many words when it is first asked for.
func (b *Backend) keep(kept map[int]*buffer, key int, name string, words int) (*buffer, error) {
	if buf := kept[key]; buf != nil {
		return buf, nil
	}
	buf, err := b.newBuffer(name, words, internalBuffer, storageUsage)
	if err != nil {
		return nil, err
	}
	kept[key] = buf
	return buf, nil
}
