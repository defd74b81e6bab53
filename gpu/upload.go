//go:build cgo

package gpu

import (
	"fmt"

	"cera/internal/cores"
)

// uploadPart uploads data, the rows of chunk c of w, into its buffers.
func (b *Backend) uploadPart(op string, w *weight, c chunk, data []byte) {
	var err error
	if w.packing != nil {
		err = b.uploadPacked(op, c, w.packing.of(w.format, data, w.n))
	} else {
		err = b.uploadBytes(op, c.buf, data)
	}
	if err != nil {
		b.fail(op, err)
	}
}

// pieceRoom is how many bytes of the ring's open buffer are worth a piece of so many that are left: what is less waits for the
// next buffer.
func (b *Backend) pieceRoom(left, least int) int { return max(least, min(left, b.ring.size/16)) }

// uploadBytes writes data to the start of buf and pads it with zeros to a whole word.
func (b *Backend) uploadBytes(op string, buf *buffer, data []byte) error {
	if !b.ring.takes(int64(len(data))) {
		// A copy, for the library would read the file on its own, where a fault ends the program.
		words := make([]byte, (len(data)+wordBytes-1)/wordBytes*wordBytes)
		copy(words, data)
		b.writePieces(op, buf, 0, words)
		return nil
	}
	for at := 0; at < len(data); {
		s, err := b.stagingRoom(b.pieceRoom((len(data)-at+wordBytes-1)&^(wordBytes-1), wordBytes))
		if err != nil {
			return stagingError(buf, at, err)
		}
		piece := data[at:min(at+s.room(), len(data))]
		whole := (len(piece) + wordBytes - 1) &^ (wordBytes - 1)
		to := s.mem[s.used:][:whole]
		cores.Copy(to, piece, packGrain)
		clear(to[len(piece):])
		if err := b.copyStaged(s, s.used, buf, at, whole); err != nil {
			return err
		}
		s.used += whole
		at += len(piece)
	}
	return nil
}

// uploadPacked packs p into the buffers of c.
func (b *Backend) uploadPacked(op string, c chunk, p packed) error {
	q, s := p.sizes()
	total := p.count()
	if !b.ring.takes(int64(total) * int64(q+s)) {
		quants, scales := make([]byte, total*q), make([]byte, total*s)
		p.to(quants, scales, 0)
		b.writePieces(op, c.buf, 0, quants)
		b.writePieces(op, c.scales, 0, scales)
		return nil
	}
	for at := 0; at < total; {
		slot, err := b.stagingRoom(b.pieceRoom((total-at)*(q+s), q+s))
		if err != nil {
			return stagingError(c.buf, at*q, err)
		}
		n := min(total-at, slot.room()/(q+s))
		to := slot.mem[slot.used:][:n*(q+s)]
		p.to(to[:n*q], to[n*q:], at)
		err = b.copyStaged(slot, slot.used, c.buf, at*q, n*q)
		if err == nil {
			err = b.copyStaged(slot, slot.used+n*q, c.scales, at*s, n*s)
		}
		if err != nil {
			return err
		}
		slot.used += len(to)
		at += n
	}
	return nil
}

// stagingError says for which bytes of buf there was no memory to pass through.
func stagingError(buf *buffer, at int, err error) error {
	return fmt.Errorf("%s, from byte %d on: %w", buf.name, at, err)
}
