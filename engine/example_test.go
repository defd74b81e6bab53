package engine_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"

	"cera/backend"
	"cera/check"
	"cera/cpu"
	"cera/engine"
	"cera/layers"
	"cera/tokenizer"
	"cera/trace"
)

// builtIn loads the built-in model onto the cpu; engine.Open does it for a file.
func builtIn() *engine.Engine {
	f, err := engine.BuiltIn()
	if err != nil {
		log.Fatal(err)
	}
	e, err := engine.Load(f, engine.Options{Device: "cpu"})
	if err != nil {
		log.Fatal(err)
	}
	return e
}

// Load a model and continue a sequence.
func Example_load() {
	e := builtIn()
	defer e.Close()
	c := e.Config()
	fmt.Println(c.Name, c.Layers, "blocks of width", c.Embd)

	logits, err := e.Eval(context.Background(), []int32{1, 2, 3})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(logits), "logits after", e.Pos(), "tokens")
	// Output:
	// llama 6 blocks of width 128
	// 1024 logits after 3 tokens
}

// Let the model go on from a prompt.
func ExampleSession_Generate() {
	e := builtIn()
	defer e.Close()
	tok, err := e.Tokenizer(tokenizer.Options{})
	if err != nil {
		log.Fatal(err)
	}
	prompt := tok.Encode("Once upon a time, there was", tokenizer.EncodeOptions{AddSpecial: true})
	o := engine.GenerateOptions{Max: 16, Stop: []string{"."}} // the likeliest tokens: no sampling
	why, _, err := e.Session().Generate(context.Background(), tok, prompt, o, func(t engine.Generated) error {
		fmt.Print(t.Text)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("\nended by", why)
	// Output:
	// a little girl named Maya
	// ended by stop
}

// Check every norm of a run against float64.
func ExampleEngine_Check() {
	e := builtIn()
	defer e.Close()
	tokens := engine.DefaultTokens(e.Config().Vocab, 8)
	report, err := e.Check(context.Background(), tokens, engine.DriftOn)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Verdict, report.Passed, report.ExitCode())
	// Output: PASS 13 0
}

// Run the same tokens as one batch, in chunks of 3, and token by token.
func ExampleEngine_CheckPaths() {
	e := builtIn()
	defer e.Close()
	tokens := engine.DefaultTokens(e.Config().Vocab, 8)
	report, err := e.CheckPaths(context.Background(), tokens, engine.DriftOff, 3)
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range report.Paths {
		fmt.Printf("%s: %s\n", p.Name, p.Report.Verdict)
	}
	fmt.Printf("%s: %d sites agree\n", report.Verdict, report.Passed)
	// Output:
	// one batch: PASS
	// chunks of 3: PASS
	// token by token: PASS
	// PASS: 38 sites agree
}

// Dump the streams of a run to a file, for numpy or for another run.
func ExampleEngine_Capture() {
	dir, err := os.MkdirTemp("", "cera")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	e := builtIn()
	defer e.Close()
	got, err := e.Capture(context.Background(), []int32{1, 2, 3}, func(site string) bool {
		return site == layers.At(layers.SiteLOut, 0) || site == layers.SiteResultNorm
	})
	if err != nil {
		log.Fatal(err)
	}
	path := filepath.Join(dir, "run.npz")
	if err := got.Trace.Write(path); err != nil {
		log.Fatal(err)
	}
	back, err := trace.Read(path)
	if err != nil {
		log.Fatal(err)
	}
	for _, site := range back.Sites() {
		_, rows, n, _ := back.Data(site)
		fmt.Println(site, rows, n)
	}
	// Output:
	// l_out-0 3 128
	// result_norm 3 128
}

// Check what another program captured of a model, without running anything.
func ExampleCheckTrace() {
	e := builtIn() // stands for the other program
	got, err := e.Capture(context.Background(), []int32{1, 2, 3},
		func(site string) bool { return site != "ffn_norm-2" })
	if err != nil {
		log.Fatal(err)
	}
	e.Close()

	f, err := engine.BuiltIn()
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	report, err := engine.CheckTrace(f, got.Trace, "theirs.npz")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Passed, "passed,", report.Failed, "failed,", report.Missed, "unmeasured, exit code",
		report.PartialExitCode())
	fmt.Println(report.Sites[5].Norm.Reason)
	// Output:
	// 12 passed, 0 failed, 1 unmeasured, exit code 0
	// the trace has no site ffn_norm-2
}

// A program records its own tensors, on any backend, and has them checked. Its norm comes out too large.
func Example_recorder() {
	const rows, n, eps = 2, 4, 1e-5
	be := cpu.New()
	defer be.Close()
	put := func(rows int, data ...float32) backend.Tensor {
		t := be.Alloc("example", rows, n)
		be.Upload(t, data)
		return t
	}
	stream, delta := put(rows, 1, -2, 3, 4, 0, 1, 1, -1), put(rows, 1, 1, 0, 0, 2, 0, 0, 1)
	weight := put(1, 1, 1, 1, 2)

	rec := trace.NewRecorder(be, func(string) bool { return true })
	defer rec.Close()
	var none backend.Tensor
	rec.Site("embd", stream, none) // a copy is made before the next op changes the tensor
	rec.Site("attn_out-0", delta, none)
	normed := be.Alloc("normed", rows, n)
	be.AddRMSNorm(normed, stream, delta, weight, eps)
	wrong := make([]float32, rows*n)
	if err := be.Read(wrong, normed); err != nil {
		log.Fatal(err)
	}
	for i := range wrong {
		wrong[i] *= float32(math.Sqrt(5.25))
	}
	be.Upload(normed, wrong)
	rec.Site("ffn_inp-0", stream, none)
	rec.Site("ffn_norm-0", normed, none)
	rec.Norm("ffn_norm-0", weight)

	tr := trace.New()
	if err := rec.Collect(tr); err != nil {
		log.Fatal(err)
	}
	report := check.Norms(check.Input{
		Info:   be.Info(),
		Tokens: []int32{7, 8},
		Trace:  tr,
		Sites: []layers.NormSite{{
			Site: "ffn_norm-0", Op: "my_norm", In: "embd", Delta: "attn_out-0", Stream: "ffn_inp-0",
			Weight: "norm.weight", Eps: eps,
		}},
		FileWeights:   func(string) ([]float32, error) { return []float32{1, 1, 1, 2}, nil },
		DeviceWeights: rec.Weights(),
	})
	s := report.Sites[0]
	fmt.Println("stream", s.Stream.Verdict, "weights", s.Weights.Verdict, "norm", s.Norm.Verdict)
	fmt.Println(report.First.Site, "of", report.First.Op, "is wrong in", s.Norm.Wrong, "elements") // the eighth is zero
	// Output:
	// stream PASS weights PASS norm FAIL
	// ffn_norm-0 of my_norm is wrong in 7 elements
}
