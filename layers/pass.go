package layers

import "cera/backend"

// pass is one walk through the model: each step runs an op, offers what it gave to the probe, and adds a line to the
// log where there is one. The log is how OpSites and NormSites are made, so that they cannot differ from what runs.
type pass struct {
	s      *State
	be     backend.Backend
	m      *Model
	rows   int            // tokens
	from   int            // position of the first
	tokens backend.Tensor // [1, rows] u32
	pos    backend.Tensor // [1, rows] u32
	reach  int            // positions of the cache that attention is laid out for, those of these tokens among them
	probe  Probe
	log    *log

	layer     int   // of the block, -1 outside
	x         value // the residual stream
	delta     value // pending: the next norm adds it to x; without a site, nothing is
	deltaBias *Vec  // what that norm adds beside it, or nil
	after     value // what x is called then
	norms     int   // of the stream so far
}

// log is what a walk leaves behind of itself.
type log struct {
	ops   []OpSite
	norms []NormSite
}

// value is a tensor and the site whose values it holds at the moment.
type value struct {
	backend.Tensor
	site  string // with a dash at the end in a block
	layer int    // -1 outside the blocks
}

func (v value) name() string {
	if v.layer < 0 || v.site == "" {
		return v.site
	}
	return At(v.site, v.layer)
}

// as is the same tensor under another site.
func (v value) as(site string, layer int) value { return value{v.Tensor, site, layer} }

// pass begins a walk over the first rows of the state's tensors.
func (s *State) pass(rows, from int, probe Probe) *pass {
	return &pass{
		s: s, be: s.be, m: s.m, rows: rows, from: from, tokens: s.tokens.View(0, 1, rows), pos: s.pos.View(0, 1, rows),
		reach: backend.Reach(from+rows-1, s.ctx), probe: probe, layer: -1,
	}
}

// offer shows the probe a site; a valid bias is part of the site's value and not of the tensor.
func (p *pass) offer(v value, bias backend.Tensor) {
	if p.probe == nil {
		return
	}
	t := v.Tensor
	if t.Rows != p.rows { // several rows a token
		t = t.View(0, p.rows, t.Rows/p.rows*t.N)
	}
	p.probe.Site(v.name(), t, bias)
}

// watched tells who watches that a step is done.
func (p *pass) watched(out value) {
	if p.s.watch != nil {
		p.s.watch(out.name(), out.Tensor)
	}
}

// did ends a step. It returns the line of the log to complete, or nil.
func (p *pass) did(kind OpKind, op string, out value, in ...value) *OpSite {
	p.offer(out, backend.Tensor{})
	p.watched(out)
	if p.log == nil {
		return nil
	}
	line := OpSite{Site: out.name(), Layer: out.layer, Kind: kind, Op: op}
	for _, v := range in {
		if v.site != "" {
			line.In = append(line.In, v.name())
		}
	}
	p.log.ops = append(p.log.ops, line)
	return &p.log.ops[len(p.log.ops)-1]
}

// scratch is memory of a state that steps view in the shape they need.
type scratch struct{ backend.Tensor }

// of returns the scratch as rows of n.
func (t scratch) of(n int) scratch { t.N, t.Stride = n, n; return t }

// first returns the first rows.
func (t scratch) first(rows int) backend.Tensor { return t.View(0, rows, t.N) }

func (p *pass) embed() {
	s, factor := p.s, p.m.EmbdFactor
	dst := s.x
	if s.arena.Valid() {
		dst = s.delta
	}
	site, scaled := SiteEmbd, SiteInpScaled
	if p.m.GraniteKey && factor != 1 { // llama.cpp's name for the scaled embedding of these
		site, scaled = SiteEmbdRaw, SiteEmbd
	}
	p.x = value{dst.Slice(0, p.rows), site, -1}
	p.be.Embed(p.x.Tensor, p.m.TokEmbd.W, p.tokens)
	if line := p.did(OpEmbed, "embedding", p.x); line != nil {
		line.Weight = p.m.TokEmbd.Name
	}
	if factor != 1 {
		p.x = p.scale(p.x, factor, scaled, -1)
	}
}

// matmul is a projection without bias.
func (p *pass) matmul(dst scratch, x value, w *Mat, site string) value {
	return p.project(dst, x, &Linear{Mat: *w}, site)
}

// project is a projection with its optional bias.
func (p *pass) project(dst scratch, x value, w *Linear, site string) value {
	return p.projectParts(dst, x, w, part{site, dst.N})[0]
}

// part is a stretch of the columns of a projection.
type part struct {
	site string
	n    int
}

// projectParts is a projection whose columns are several sites.
func (p *pass) projectParts(dst scratch, x value, w *Linear, parts ...part) []value {
	all := dst.first(p.rows)
	p.be.MatMul(all, x.Tensor, w.W)
	return p.projected(all, x, w, parts...)
}

// projected adds the bias to a projection that was made, and ends the step of each part of it.
func (p *pass) projected(all backend.Tensor, x value, w *Linear, parts ...part) []value {
	if w.Bias.Has {
		p.be.AddBias(all, w.Bias.T)
	}
	out, from := make([]value, len(parts)), 0
	for i, part := range parts {
		t := all
		t.Off, t.N = t.Off+from, part.n
		out[i] = value{t, part.site, p.layer}
		if line := p.did(OpMatMul, "matmul "+shortName(w.Name), out[i], x); line != nil {
			line.Weight, line.From = w.Name, from
			if w.Bias.Has {
				line.Bias = w.Bias.Name
			}
		}
		from += part.n
	}
	return out
}
