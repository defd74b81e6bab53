package layers

import (
	"fmt"
	"math"
)

// Keys reads GGUF metadata; *gguf.File is one. Getters fail for a key that is missing or of another type.
type Keys interface {
	Has(key string) bool
	String(key string) (string, error)
	Bool(key string) (bool, error)
	Uint(key string) (uint64, error)
	Float(key string) (float64, error)
	Uints(key string) ([]uint64, error)
	Bools(key string) ([]bool, error)
}

// keyReader reads keys under a prefix until the first error.
type keyReader struct {
	k      Keys
	prefix string
	err    error
}

// fail keeps the first error, which names the key.
func (r *keyReader) fail(key, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%s%s: "+format, append([]any{r.prefix, key}, args...)...)
	}
}

// absent tells whether a key is not to be read: it is missing and has a default, or there is an error already.
func (r *keyReader) absent(key string, hasDefault bool) bool {
	return r.err != nil || hasDefault && !r.k.Has(r.prefix+key)
}

// int reads a count from 1 to limit. A missing key gives def, or an error where def is negative.
func (r *keyReader) int(key string, def, limit int) int {
	if r.absent(key, def >= 0) {
		return def
	}
	v, err := r.k.Uint(r.prefix + key)
	if err != nil {
		r.err = err
		return def
	}
	return r.count(key, v, limit)
}

// zeroOr is int for a key whose 0 says the same as no key.
func (r *keyReader) zeroOr(key string, limit int) int {
	if r.absent(key, true) {
		return 0
	}
	v, err := r.k.Uint(r.prefix + key)
	if err != nil {
		r.err = err
	}
	if v == 0 {
		return 0
	}
	return r.count(key, v, limit)
}

func (r *keyReader) count(key string, v uint64, limit int) int {
	if v < 1 || v > uint64(limit) {
		r.fail(key, "%d is not between 1 and %d", v, limit)
		return 1
	}
	return int(v)
}

// ints reads a count for each of n blocks: one for all, or an array. A missing key gives def.
func (r *keyReader) ints(key string, def []int, n, limit int) []int {
	if r.absent(key, def != nil) {
		return def
	}
	list := make([]int, n)
	v, err := r.k.Uint(r.prefix + key)
	if err == nil {
		for i := range list {
			list[i] = r.count(key, v, limit)
		}
		return list
	}
	all, listErr := r.k.Uints(r.prefix + key)
	switch {
	case listErr != nil:
		r.err = err
	case len(all) != n:
		r.fail(key, "%d values, expected one for each of %d blocks", len(all), n)
	default:
		for i, v := range all {
			list[i] = r.count(key, v, limit)
		}
	}
	return list
}

// float reads a finite number. A missing key gives def, or an error where def is NaN.
func (r *keyReader) float(key string, def float64) float32 {
	if r.absent(key, !math.IsNaN(def)) {
		return float32(def)
	}
	v, err := r.k.Float(r.prefix + key)
	switch {
	case err != nil:
		r.err = err
	case v-v != 0 || math.Abs(v) > math.MaxFloat32:
		r.fail(key, "%g is not a finite number", v)
	}
	return float32(v)
}

// positive is float for a number that must be above 0.
func (r *keyReader) positive(key string, def float64) float32 {
	v := r.float(key, def)
	if !(v > 0) {
		r.fail(key, "%g is not a number > 0", v)
	}
	return v
}

// cap reads a softcap: a number above 0, or 0 for none.
func (r *keyReader) cap(key string, def float32) float32 {
	v := r.float(key, float64(def))
	if v < 0 {
		r.fail(key, "%g is not a number >= 0", v)
	}
	return v
}

// bool reads a truth value; a missing key gives def.
func (r *keyReader) bool(key string, def bool) bool {
	if r.absent(key, true) {
		return def
	}
	v, err := r.k.Bool(r.prefix + key)
	if err != nil {
		r.err = err
	}
	return v
}

// text reads a string; a missing key gives "".
func (r *keyReader) text(key string) string {
	if r.absent(key, true) {
		return ""
	}
	s, err := r.k.String(r.prefix + key)
	if err != nil {
		r.err = err
	}
	return s
}

// refused lists keys that change the arithmetic in ways the forward pass does not know; each is refused unless it has
// the neutral value.
var refused = []struct {
	key     string
	neutral float64
	granite bool // an architecture with Arch.GraniteKey reads it
}{
	{"attention.clamp_kqv", 0, false},
	{"attention.max_alibi_bias", 0, false},
	{"logit_scale", 1, true},
	{"residual_scale", 1, true},
	{"embedding_scale", 1, true},
	{"attention.scale", 0, true},
	{"expert_weights_scale", 1, false},
	{"expert_group_count", 1, false},
	{"leading_dense_block_count", 0, false},
	{"rope.scaling.yarn_log_multiplier", 0, false},
}

// refuse fails for keys that ask for arithmetic the forward pass does not have. granite says that the architecture
// reads its four scales.
func (r *keyReader) refuse(granite bool) {
	if r.bool("use_parallel_residual", false) {
		r.fail("use_parallel_residual", "blocks whose MLP runs beside attention are not supported")
	}
	for _, u := range refused {
		if granite && u.granite || r.absent(u.key, true) {
			continue
		}
		v, err := r.k.Float(r.prefix + u.key)
		if err != nil {
			var n uint64
			if n, err = r.k.Uint(r.prefix + u.key); err == nil {
				v = float64(n)
			}
		}
		switch {
		case err != nil:
			r.err = err
		case v != u.neutral && v != 0: // 0 says "none" for every one of them
			r.fail(u.key, "%g is not supported (only %g)", v, u.neutral)
		}
	}
}

// factor reads a multiplier; 0 and a missing key give def.
func (r *keyReader) factor(key string, def float32) float32 {
	if v := r.float(key, float64(def)); v != 0 {
		return v
	}
	return def
}
