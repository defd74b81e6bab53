//go:build cgo

package gpu

import (
	"fmt"
	"strconv"
	"strings"

	"cera/shaders"
)

// Which kernels run an attention, and how: one function decides (planAttention).
//
//	general  any head, any alignment: a workgroup a row and head
//	split    few rows: the positions are split among workgroups, whose query heads share what they read
//	tile     many rows: tiles of queries and keys; the positions are split as well where the queries are few
//
// split and tile take heads of a multiple of 4 elements (8 in a cache of halves) up to shaders.MaxFastHeadDim, in a
// cache whose rows begin at a multiple of 16 bytes.
const (
	attentionGeneral = "general"
	attentionSplit   = "split"
	attentionTile    = "tile"
)

const (
	// splitRows is the number of rows up to which split is the faster one.
	splitRows = 8
	// splitWorkgroups and tileWorkgroups are as many as keep a large device busy: four and two a multiprocessor of 132.
	splitWorkgroups = 512
	tileWorkgroups  = 256
	// Positions that one workgroup gets through in less time than a further dispatch takes.
	directPositions = 256
)

// attentionForce is what Options.AttentionVariant asks for; the zero value leaves the choice to planAttention.
type attentionForce struct {
	kernel     string
	workgroups int // of split, or 0
	cols       int // of tile, or 0
	depth      int
}

// parseAttention reads the name of a variant: general, split, tile, or with their numbers split-512 (workgroups) and
// tile-128-16 (keys and depth of a tile).
func parseAttention(name string) (f attentionForce, err error) {
	var fits bool
	switch kernel, numbers, _ := strings.Cut(name, "-"); {
	case name == attentionGeneral || name == attentionSplit || name == attentionTile:
		return attentionForce{kernel: name}, nil
	case kernel == attentionSplit:
		f.kernel = kernel
		f.workgroups, err = strconv.Atoi(numbers)
		fits = f.workgroups >= 1 && f.workgroups <= 1<<16
	case kernel == attentionTile:
		f.kernel = kernel
		cols, depth, _ := strings.Cut(numbers, "-")
		f.cols, err = strconv.Atoi(cols)
		if err == nil {
			f.depth, err = strconv.Atoi(depth)
		}
		fits = (f.cols == 64 || f.cols == 128) && (f.depth == 16 || f.depth == 32)
	}
	if err != nil || !fits {
		return attentionForce{}, fmt.Errorf(
			"attention %q: expected general, split, tile, split-N with up to %d workgroups, or "+
				"tile-N-M with 64 or 128 keys and a depth of 16 or 32", name, 1<<16)
	}
	return f, nil
}

// attentionShape is what the choice depends on.
type attentionShape struct {
	rows, heads, kv, headDim int
	positions                int  // that a row sees at most
	half                     bool // the cache holds halves
	cacheAligned             bool // keys and values, and their rows, begin at multiples of 16 bytes
	rowsAligned              bool // q and dst do too
}

// attentionPlan is the outcome.
type attentionPlan struct {
	kernel string
	split  shaders.AttentionSplit
	tile   shaders.AttentionTile
	parts  int // of a KV head's query heads, each of which has workgroups of its own
	splits int // of the positions
}

// What split and tile, and what puts splits together, have of threads.
const (
	fastThreads  = 128
	mergeThreads = 256
)

// planAttention chooses the kernel for a shape, on a device with so many bytes of workgroup memory and threads a
// workgroup.
func planAttention(s attentionShape, force attentionForce, storage, threads int) attentionPlan {
	p := planKernel(s, force, storage, threads)
	if threads < mergeThreads {
		p.splits = 1
	}
	return p
}

func planKernel(s attentionShape, force attentionForce, storage, threads int) attentionPlan {
	general := attentionPlan{kernel: attentionGeneral, parts: 1, splits: 1}
	unit := 4
	if s.half {
		unit = 8
	}
	fast := s.headDim%unit == 0 && s.headDim <= shaders.MaxFastHeadDim && s.cacheAligned
	kernel := force.kernel
	if kernel == "" {
		kernel = attentionTile
		if s.rows <= splitRows || !s.rowsAligned {
			kernel = attentionSplit
		}
	}
	switch {
	case !fast || threads < fastThreads:
	case kernel == attentionSplit:
		if p := planSplit(s, force, storage); p.split.Storage() <= storage {
			return p
		}
	case kernel == attentionTile && s.rowsAligned:
		if p := planTile(s, force, storage); p.tile.Storage() <= storage {
			return p
		}
	}
	return general
}

func planSplit(s attentionShape, force attentionForce, storage int) attentionPlan {
	p := attentionPlan{
		kernel: attentionSplit,
		split:  shaders.AttentionSplit{HeadDim: s.headDim, Heads: 4, Half: s.half},
	}
	group := s.heads / s.kv
	if eight := (shaders.AttentionSplit{HeadDim: s.headDim, Heads: 8, Half: s.half}); group > 4 &&
		eight.Storage() <= storage {
		p.split = eight
	}
	p.parts = (group + p.split.Heads - 1) / p.split.Heads
	want := splitWorkgroups
	if force.workgroups > 0 {
		want = force.workgroups
	}
	p.splits = splitsFor(want, s.rows*s.kv*p.parts, s.positions, shaders.SplitTile)
	if s.positions <= directPositions && force.workgroups == 0 {
		p.splits = 1
	}
	return p
}

func planTile(s attentionShape, force attentionForce, storage int) attentionPlan {
	p := attentionPlan{kernel: attentionTile, parts: 1}
	p.tile = shaders.AttentionTile{HeadDim: s.headDim, Cols: 128, Depth: 16, Values: 16, Half: s.half}
	if s.headDim > 128 {
		p.tile.Cols = 64 // a thread's registers hold twice the output
	}
	if force.cols > 0 {
		wanted := p.tile
		wanted.Cols, wanted.Depth = force.cols, force.depth
		if wanted.Storage() <= storage {
			p.tile = wanted
		}
	}
	if p.tile.Storage() > storage {
		p.tile.Values = 8
	}
	tiles := (s.rows*(s.heads/s.kv) + shaders.TileRows - 1) / shaders.TileRows
	// A split of less than two tiles would not be worth its merging.
	p.splits = splitsFor(tileWorkgroups, tiles*s.kv, s.positions, 2*p.tile.Cols)
	return p
}

// splitsFor returns how many splits make as many workgroups as are wanted, of at least step positions each where a row
// sees as many as it can.
func splitsFor(want, each, positions, step int) int {
	return max(1, min(want/each, (positions+step-1)/step, shaders.MaxSplits))
}
