package trace

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// SiteDiff compares one site of two traces, A against the reference B.
type SiteDiff struct {
	Site       string // our name
	NameA      string // in A
	NameB      string // in B
	RowsA, NA  int    // shape in A: tokens, channels
	RowsB, NB  int
	Tol        float64 // largest NMSE that passes
	NMSE       float64 // sum of (a-b)² over sum of b²; NaN where nothing could be compared
	Cosine     float64
	MaxAbs     float64 // largest |a-b|
	MaxRel     float64 // largest |a-b|/|b| where b is not 0
	Token      int     // where |a-b| is largest; the first NaN counts as the largest
	Channel    int
	A, B       float32 // the values there
	NonFiniteA int     // NaN and infinities
	NonFiniteB int
	Reason     string // why the site fails; empty where it does not
	Unfit      bool   // it cannot be compared: shapes differ, or numbers are not finite
}

// Failed tells whether the site is over tolerance, has another shape, or numbers that are not finite.
func (d *SiteDiff) Failed() bool { return d.Reason != "" }

// Comparison is the outcome of Diff.
type Comparison struct {
	Sites        []SiteDiff // in both, in forward order
	OnlyA, OnlyB []string   // in one trace only, by the trace's own names
	Tokens       string     // how the tokens differ; empty where they do not or a trace has none
	Models       string     // how the models differ, where both manifests name one
	Gaps         []string   // sites that one trace has of other blocks and not of the one it is missing in, as text
	First        *SiteDiff  // the first that fails; nil: none
	Last         *SiteDiff  // the last before First that does not fail; nil: none
}

// Same tells whether nothing failed.
func (c *Comparison) Same() bool { return c.First == nil && c.Unfit() == nil }

// Unfit is an error where the traces cannot be of one run of one model, rightly written: the tokens differ, a site is
// missing in one block, shapes differ, or numbers are not finite. A numeric difference is none.
func (c *Comparison) Unfit() error {
	var list []string
	if c.Tokens != "" {
		list = append(list, "the tokens differ: "+c.Tokens)
	}
	list = append(list, c.Gaps...)
	for i := range c.Sites {
		if d := &c.Sites[i]; d.Unfit {
			list = append(list, d.Site+": "+d.Reason)
		}
	}
	switch n := len(list); {
	case n == 0:
		return nil
	case n > 3:
		list = append(list[:3], fmt.Sprintf("and %d more", n-3))
	}
	return errors.New("the traces cannot be compared: " + strings.Join(list, "; "))
}

// Diff compares the sites that are in both traces, in forward order: that of A's manifest, else of B's, else
// llama.cpp's. Other engines' names are understood, see SiteName. tol gives the largest NMSE of a site behind a number
// of blocks. That there is no site in common is an error.
func Diff(a, b *Trace, tol func(blocks int) float64) (*Comparison, error) {
	na, nb := rename(a), rename(b)
	pairLogits(na, nb)
	order := na.order()
	if a.Manifest == nil && b.Manifest != nil {
		order = nb.order()
	}
	c := new(Comparison)
	blocks := 0
	for _, site := range order {
		blocks = max(blocks, layerOf(site)+1)
	}
	for _, site := range order {
		if na.names[site] == "" || nb.names[site] == "" {
			continue
		}
		d := SiteDiff{Site: site, NameA: na.names[site], NameB: nb.names[site]}
		switch layer := layerOf(site); {
		case layer >= 0:
			d.Tol = tol(layer + 1)
		case site == "embd":
			d.Tol = tol(0)
		default:
			d.Tol = tol(blocks)
		}
		d.compare(a.sites[d.NameA], b.sites[d.NameB])
		c.Sites = append(c.Sites, d)
	}
	for i := range c.Sites {
		if c.Sites[i].Failed() {
			c.First = &c.Sites[i]
			if i > 0 {
				c.Last = &c.Sites[i-1]
			}
			break
		}
	}
	for _, site := range na.order() {
		if nb.names[site] == "" {
			c.OnlyA = append(c.OnlyA, na.names[site])
		}
	}
	for _, site := range nb.order() {
		if na.names[site] == "" {
			c.OnlyB = append(c.OnlyB, nb.names[site])
		}
	}
	c.Gaps = append(na.gaps(nb, "the first", "the second"), nb.gaps(na, "the second", "the first")...)
	c.Tokens = tokensDiffer(a.Tokens, b.Tokens)
	if a.Manifest != nil && b.Manifest != nil && a.Manifest.SHA256 != "" && b.Manifest.SHA256 != "" &&
		a.Manifest.SHA256 != b.Manifest.SHA256 {
		c.Models = fmt.Sprintf("sha256 of %s is %.12s…, of %s %.12s…", a.Manifest.Model, a.Manifest.SHA256,
			b.Manifest.Model, b.Manifest.SHA256)
	}
	if len(c.Sites) == 0 {
		return nil, fmt.Errorf("no site is in both: one has %s, the other %s", some(a.order), some(b.order))
	}
	return c, nil
}

// gaps lists what n lacks: sites that other has of a block, of which n has some sites, and this one of other blocks.
func (n *named) gaps(other *named, this, that string) []string {
	blocks, patterns := map[int]bool{}, map[string]bool{}
	for ours := range n.names {
		if pattern, layer := split(ours); layer >= 0 {
			blocks[layer], patterns[pattern] = true, true
		}
	}
	var list []string
	for _, ours := range other.order() {
		pattern, layer := split(ours)
		if layer >= 0 && n.names[ours] == "" && blocks[layer] && patterns[pattern] {
			list = append(list, fmt.Sprintf("%s is missing in %s, which has it of other blocks; %s has it", ours, this,
				that))
		}
	}
	return list
}

// some names the first of a list.
func some(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	text := strings.Join(names[:min(len(names), 4)], ", ")
	if len(names) > 4 {
		text += fmt.Sprintf(" and %d more", len(names)-4)
	}
	return text
}

func tokensDiffer(a, b []int32) string {
	if len(a) == 0 || len(b) == 0 || slices.Equal(a, b) {
		return ""
	}
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("position %d is token %d in one and %d in the other", i, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d in one and %d in the other; the first %d are the same", len(a), len(b), min(len(a), len(b)))
}

// shape returns rows and width. Engines that batch sequences put a dimension of 1 before the tokens.
func (s *site) shape() (rows, n int) {
	dims := s.dims
	for len(dims) > 2 && dims[0] == 1 {
		dims = dims[1:]
	}
	if len(dims) < 2 {
		return len(s.data) / s.n, s.n
	}
	return dims[0], len(s.data) / dims[0]
}

func (d *SiteDiff) compare(a, b *site) {
	d.RowsA, d.NA = a.shape()
	d.RowsB, d.NB = b.shape()
	d.NonFiniteA, d.NonFiniteB = nonFinite(a.data), nonFinite(b.data)
	if d.RowsA != d.RowsB || d.NA != d.NB {
		d.NMSE, d.Cosine, d.MaxAbs, d.MaxRel = math.NaN(), math.NaN(), math.NaN(), math.NaN()
		d.Unfit = true
		d.Reason = fmt.Sprintf("shape [%d, %d] against [%d, %d]", d.RowsA, d.NA, d.RowsB, d.NB)
		switch {
		case d.RowsA == d.NB && d.NA == d.RowsB:
			d.Reason += ": the axes look swapped; rows must be tokens"
		case d.NA == d.NB:
			d.Reason += ": other numbers of tokens; an engine may keep the last token alone unless it is asked " +
				"for all logits"
		}
		return
	}
	d.measure(a.data, b.data)
	switch {
	case d.NonFiniteA+d.NonFiniteB > 0:
		d.Unfit = true
		d.Reason = fmt.Sprintf("not finite: %d values of the first, %d of the second", d.NonFiniteA, d.NonFiniteB)
	case !(d.NMSE <= d.Tol):
		d.Reason = fmt.Sprintf("NMSE %.3g, tolerance %.3g", d.NMSE, d.Tol)
		if d.RowsA == d.NA && d.RowsA > 1 && Measure(transposed(a.data, d.NA), b.data).NMSE() <= d.Tol {
			d.Unfit = true
			d.Reason += ": the axes look swapped; rows must be tokens"
		}
	}
}

// measure fills in the numbers of two arrays of one shape.
func (d *SiteDiff) measure(a, b []float32) {
	m := Measure(a, b)
	d.NMSE, d.Cosine, d.MaxAbs, d.MaxRel = m.NMSE(), m.Cosine(), m.MaxAbs, m.MaxRel
	d.Token, d.Channel, d.A, d.B = m.At/d.NA, m.At%d.NA, a[m.At], b[m.At]
	// Zeros on both sides are the same numbers, though there is nothing to divide by.
	if m.A2 == 0 && m.B2 == 0 {
		d.NMSE, d.Cosine = 0, 1
	}
}

func nonFinite(data []float32) int {
	count := 0
	for _, v := range data {
		if v-v != 0 {
			count++
		}
	}
	return count
}

// transposed returns a square matrix turned over.
func transposed(data []float32, n int) []float32 {
	t := make([]float32, len(data))
	for i := range data {
		t[i%n*n+i/n] = data[i]
	}
	return t
}
