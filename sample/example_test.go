package sample_test

import (
	"fmt"

	"cera/sample"
)

func Example() {
	p := sample.Default()
	p.Seed = 42
	p.TopLogProbs = 2
	s, err := sample.New(p, 4, sample.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	logits := []float32{0, 3, 2.5, -4} // of a model with four tokens
	for range 3 {
		c, err := s.Sample(logits)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("token %d, log-probability %.3f, likeliest %d and %d\n", c.ID, c.LogProb, c.Top[0].ID, c.Top[1].ID)
		if err := s.Accept(c.ID); err != nil {
			fmt.Println(err)
			return
		}
	}
	// Output:
	// token 1, log-probability -0.505, likeliest 1 and 2
	// token 2, log-probability -1.005, likeliest 1 and 2
	// token 1, log-probability -0.505, likeliest 1 and 2
}

func ExampleParams() {
	_, err := sample.New(sample.Params{Temperature: 0.8, TopP: 1.5}, 32000, sample.Options{})
	fmt.Println(err)
	// Output: sample: TopP is 1.5, expected 0 to 1
}
