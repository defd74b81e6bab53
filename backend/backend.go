// Package backend is the interface between the forward pass and the device it runs on: tensor handles, weight
// handles and the ops of a llama-style transformer.
//
// Ops take their destination first and return nothing: the first error sticks, later ops do nothing, and the
// error comes out of Flush or Read (as with bufio.Writer), so that a forward pass reads like the paper. No op
// bakes a position, a token id or a KV length into its parameters: they live in device tensors, so that a
// recorded step can be replayed. A destination never shares memory with a source unless the op says so.
package backend

// Backend runs ops on one device. A Backend is used by one goroutine at a time.
type Backend interface {
	Info() Info

	// Alloc returns zeroed device memory for rows × n words, stride n. The name appears in error messages.
	Alloc(name string, rows, n int) Tensor
	// Free releases the buffer behind t; every view of it becomes invalid. Freeing the zero Tensor does nothing.
	Free(t Tensor)
	// Takes reports whether LoadWeight takes format f: all of Formats, and perhaps more.
	Takes(f Format) bool
	// LoadWeight uploads a matrix [rows, n] in its GGUF encoding: rows of n elements, row-major, as in the file.
	// The data is not retained.
	LoadWeight(name string, f Format, rows, n int, data []byte) Weight
	// Join says that weights will be multiplied with the same x, in this order: a backend may store them together. Each
	// stays a weight of its own.
	Join(w ...Weight)
	// FreeWeight releases w. A nil Weight is ignored.
	FreeWeight(w Weight)
	// Upload writes t.Rows*t.N values, row after row without gaps, into t.
	Upload(t Tensor, data []float32)
	// UploadU32 is Upload for token ids and positions.
	UploadU32(t Tensor, data []uint32)
	// Copy copies src into dst on the device, bit for bit. The shapes are equal, strides may differ.
	Copy(dst, src Tensor)
	// Read waits for all ops so far and copies t, row after row without gaps, into dst (len t.Rows*t.N).
	// It returns the first error of any op since the last Flush or Read that returned one.
	Read(dst []float32, t Tensor) error
	// Flush submits what was recorded and waits for it; it returns the first error of any op.
	Flush() error
	// Record runs f and returns a function that runs the ops that f ran again, with the operands they had: cheaper than
	// f where checking and encoding an op costs more than running it. f must not read or upload, and what its ops work
	// on must live as long as the function is used.
	Record(f func()) (again func())
	// Close releases the device. Tensors and weights must not be used afterwards.
	Close()

	// Embed writes row tokens[i] of table into row i of dst. tokens: [1, dst.Rows] u32. A token id outside the
	// table writes a row of zeros; callers validate ids before.
	Embed(dst Tensor, table Weight, tokens Tensor)
	// RMSNorm: dst[r,i] = src[r,i] / sqrt(mean(src[r]²) + eps) * w[i]. w: [1, n].
	RMSNorm(dst, src, w Tensor, eps float32)
	// AddRMSNorm: src[r,i] += residual[r,i], written back, then RMSNorm of it into dst. residual has src's stride.
	AddRMSNorm(dst, src, residual, w Tensor, eps float32)
	// FusedResidualRMSNorm is RMSNorm of in + residual + bias with a shift, over one arena buffer.
	FusedResidualRMSNorm(p FusedNorm)
	// LayerNorm: dst[r,i] = (src[r,i] - mean(src[r])) / sqrt(variance(src[r]) + eps) * w[i] + bias[i], the variance
	// over n. w, bias: [1, n]; bias is optional.
	LayerNorm(dst, src, w, bias Tensor, eps float32)
	// MatMul: dst[r,o] = sum over k of x[r,k] * w[o,k]. dst: [rows, w.Rows()], x: [rows, w.N()].
	MatMul(dst, x Tensor, w Weight)
	// MatMuls is a MatMul of x with each of several weights. Where these are joined, a backend may read x once.
	MatMuls(dst []Tensor, x Tensor, w []Weight)
	// GatedMatMul is a MatMul of x with wGate into gate and with wUp into up, and GatedAct of these into dst.
	GatedMatMul(dst, gate, up, x Tensor, wGate, wUp Weight, act Activation)
	// AddBias: x[r,i] += bias[i], in place. bias: [1, n].
	AddBias(x, bias Tensor)
	// Add: dst[r,i] += x[r,i], in place.
	Add(dst, x Tensor)
	// Scale: x[r,i] *= factor, in place.
	Scale(x Tensor, factor float32)
	// Softcap: x[r,i] = limit * tanh(x[r,i] / limit), in place.
	Softcap(x Tensor, limit float32)
	// RoPE rotates pairs of every head of x in place by the angles of row pos[r] of table.
	RoPE(x, pos, table Tensor, p RoPE)
	// StoreKV writes row r of k and v into row pos[r] of the cache, rounded to the nearest half, ties to even, where it
	// holds halves.
	StoreKV(c KV, k, v, pos Tensor)
	// RopeStoreKV is RoPE of q and of k, and StoreKV of k and v, which a backend may do in one.
	RopeStoreKV(c KV, q, k, v, pos, table Tensor, p RoPE)
	// UnpackHalf: dst[r,i] is the value of half i of row r of src, which has two a word, the first in the low bits.
	// dst: [rows, n], src: [rows, ceil(n/2)].
	UnpackHalf(dst, src Tensor)
	// Attention: row r of dst is softmax(s)·V over cache rows j from max(0, pos[r]-Window+1) to pos[r], a head at a
	// time, with s[j] = q·K[j]·Scale, passed through the softcap where there is one; query head h reads KV head
	// h / (NHead/NKV). A sink is one more score of the head, which takes its share of the sum and has no value.
	Attention(dst, q Tensor, c KV, pos Tensor, p Attention)
	// Act: dst[r,i] = act(src[r,i]).
	Act(dst, src Tensor, act Activation)
	// GatedAct: dst[r,i] = act(gate[r,i]) * up[r,i]; ClampedSwiGLU says what it does instead.
	GatedAct(dst, gate, up Tensor, act Activation)

	// ArgMax: ids[r] is the column of the largest of x[r], the lowest where several are equal. NaN counts as the lowest
	// of all. ids: [1, x.Rows] u32.
	ArgMax(ids, x Tensor)
	// TopK writes the largest elements of row r of x and their columns into row at[r] % values.Rows of values and ids:
	// the largest first, the lower column where two are equal. NaN counts as larger than all. ids holds u32; values,
	// ids: [places, k] with k at most MaxTopK and x.N; at: [1, x.Rows] u32.
	TopK(values, ids, x, at Tensor)
	// Draw takes an element of row at % values.Rows of ids by chance: the larger values more often, as p says. values,
	// ids: [places, k], as TopK writes them; u: [1, draws], in [0, 1), of which u[at % draws] is used; p: [1, 4], the
	// fields of DrawParams in their order; at, id: [1, 1] u32. It is worked out in float32, where a draw near the
	// border of two elements may fall on either side: a guess, for whoever knows the values to confirm.
	Draw(id, values, ids, u, at, p Tensor)
	// Advance ends a step of decoding: history[pos] = id, token = id, pos = pos + 1. token, pos, id: [1, 1] u32;
	// history: [1, positions] u32. A position past the history is not written.
	Advance(token, pos, history, id Tensor)

	// Route picks the p.Used experts of every row by its logits [rows, experts]: ids and weights are [rows, Used],
	// the largest logit first, the lower expert where two are equal. ids holds u32.
	Route(ids, weights, logits Tensor, p Router)
	// ExpertMatMul is a MatMul in which every row has an expert's matrix: dst[s,o] = sum over k of
	// x[s/(slots/xRows),k] * w[ids[s]*m+o,k]. dst: [slots, m], ids: [1, slots] u32, w: [experts*m, k];
	// x: [xRows, k], where xRows divides slots. An id past the experts gives a row of zeros.
	ExpertMatMul(dst, x Tensor, w Weight, ids Tensor)
	// ExpertBias: x[s,i] += bias[ids[s],i], in place. bias: [experts, n], ids: [1, slots] u32 of experts there are.
	ExpertBias(x, bias, ids Tensor)
	// Combine: dst[r,i] = sum over j of weights[r,j] * x[r*used+j,i]. weights: [rows, used], x: [rows*used, n].
	Combine(dst, x, weights Tensor)
	// AddGated: dst[r,i] += x[r,i] / (1 + exp(-gate[r,0])), in place. gate: [rows, 1].
	AddGated(dst, x, gate Tensor)
}

// Info describes the device behind a backend.
type Info struct {
	Backend  string `json:"backend"`           // "cpu", "cpu-fast" or "gpu"
	Adapter  string `json:"adapter"`           // the adapter's or processor's name
	Driver   string `json:"driver,omitempty"`  // driver name and version, or API
	Library  string `json:"library,omitempty"` // library that drives the GPU, with its version or revision; empty: none
	Software bool   `json:"software"`          // the ops run on the processor's cores
	Kernels  string `json:"kernels,omitempty"` // folder whose kernels run in place of the program's own; empty: none
	MaxBytes int64  `json:"max_binding_bytes"` // the largest single tensor Alloc can give, in bytes; weights may be larger
}

// Buffer is a block of device memory that belongs to a backend.
type Buffer interface {
	Words() int // size in 4-byte words
}

// Tensor is a view of device memory: [Rows, N] f32 or u32 words, row-major. It is a value: slicing copies the
// handle, never the data.
type Tensor struct {
	Buf    Buffer
	Off    int // first element, in words from the start of Buf
	Rows   int
	N      int // row length, in words
	Stride int // words from the start of a row to the start of the next, >= N
}

// Valid reports whether t refers to memory at all; optional tensors are passed as the zero Tensor.
func (t Tensor) Valid() bool { return t.Buf != nil }

// Slice returns rows lo..hi-1 of t.
func (t Tensor) Slice(lo, hi int) Tensor {
	t.Off += lo * t.Stride
	t.Rows = hi - lo
	return t
}

// View returns [rows, n] contiguous words that start at word off of t.
func (t Tensor) View(off, rows, n int) Tensor {
	return Tensor{Buf: t.Buf, Off: t.Off + off, Rows: rows, N: n, Stride: n}
}

// Span returns the number of words from t's first element to its last, both included.
func (t Tensor) Span() int {
	if t.Rows <= 0 || t.N <= 0 {
		return 0
	}
	return (t.Rows-1)*t.Stride + t.N
}

// Weight is a matrix on the device in its GGUF encoding.
type Weight interface {
	Name() string
	Format() Format
	Rows() int // output width of a MatMul, or vocabulary size of an embedding
	N() int    // row length in elements
}

// FusedNorm holds the operands of FusedResidualRMSNorm, all views of one buffer with stride N:
//
//	s   = In + Residual + Bias       (float32, added left to right)
//	Sum = s
//	Out = s / sqrt(mean(s²) + Eps) * Gamma + Beta
type FusedNorm struct {
	Out, In, Residual Tensor // [rows, n]; In and Residual are not written unless Sum names them
	Bias              Tensor // [1, n], optional
	Gamma, Beta       Tensor // [1, n]
	Sum               Tensor // [rows, n], optional; may be In
	Eps               float32
}

// RopeStyle says which elements of a head form a pair.
type RopeStyle uint8

const (
	RopeNorm RopeStyle = iota // (0,1), (2,3), ...: the original LLaMA order
	RopeNeoX                  // (0,RotDim/2), (1,RotDim/2+1), ...: halves, as GPT-NeoX
)

func (r RopeStyle) String() string { return [...]string{"norm", "neox"}[r] }

// RoPE holds the shape of a rotary embedding. The table is [positions, RotDim] f32: cos and sin of pair j in
// columns 2j and 2j+1.
type RoPE struct {
	Style   RopeStyle
	HeadDim int // elements a head
	RotDim  int // leading elements of a head that are rotated, even, <= HeadDim
}

// KV is one layer's cache: keys and values, each [context, nKV*headDim] f32, or with Half two halves a word, the first
// in the low bits: [context, ceil(nKV*headDim/2)].
type KV struct {
	K, V Tensor
	Half bool
}

// leastReach is the shortest part of a cache that attention is laid out for, and the next ones are each reachGrowth
// times as long: a short text does not wait for what a long one needs.
const (
	leastReach  = 256
	reachGrowth = 4
)

// Reach returns how many positions of a cache of ctx attention is laid out for, if its last token is at position pos.
func Reach(pos, ctx int) int {
	reach := leastReach
	for reach <= pos {
		reach *= reachGrowth
	}
	return min(reach, ctx)
}

// First returns the cache of the first n positions, which lies in the same memory.
func (c KV) First(n int) KV {
	c.K, c.V = c.K.Slice(0, n), c.V.Slice(0, n)
	return c
}

// Width returns the words of a row of n elements.
func (c KV) Width(n int) int {
	if c.Half {
		return (n + 1) / 2
	}
	return n
}

// Attention holds the shape of an attention op.
type Attention struct {
	NHead, NKV, HeadDim int
	Scale               float32 // multiplies q·k, usually 1/sqrt(HeadDim)
	Window              int     // positions that a token sees, itself included; 0: all
	Softcap             float32 // scores become Softcap * tanh(score/Softcap); 0: they stay
	Sinks               Tensor  // [1, NHead], a score of each head beside those of the positions; optional
}

// Activation is the function a gate goes through.
type Activation uint8

const (
	SiLU     Activation = iota // x / (1 + exp(-x))
	GELUTanh                   // x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x³)))
	// ClampedSwiGLU, for GatedAct alone: with g = min(gate, 7) and u = clamp(up, -7, 7),
	// g / (1 + exp(-1.702 g)) * (u + 1).
	ClampedSwiGLU
)

func (a Activation) String() string { return [...]string{"silu", "gelu_tanh", "clamped_swiglu"}[a] }

// Constants of ClampedSwiGLU.
const (
	SwiGLULimit = 7
	SwiGLUAlpha = 1.702
)

// RouterKind says how logits become the weights of the experts that are picked.
type RouterKind uint8

const (
	SoftmaxTopK RouterKind = iota // softmax over all experts, of which the picked ones' part is taken
	TopKSoftmax                   // softmax over the picked experts alone
)

func (k RouterKind) String() string { return [...]string{"softmax, top k", "top k, softmax"}[k] }

// Router holds the shape of a Route op.
type Router struct {
	Kind      RouterKind
	Used      int  // experts a row takes
	Normalize bool // the weights of a row are divided by their sum
}

// MaxTopK is the most elements of a row that TopK finds.
const MaxTopK = 64

// DrawParams say how Draw makes a choice. They lie on the device, so that a recorded Draw can be told others.
type DrawParams struct {
	Temperature float32 // positive; values are divided by it before the softmax
	TopK        float32 // only so many of the elements
	TopP        float32 // only the first whose probabilities, at a temperature of 1, add up to as much; 0: all
	MinP        float32 // only those of at least MinP times the probability of the first
}
