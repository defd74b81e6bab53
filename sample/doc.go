// Package sample picks the next token from a model's logits.
//
//	s, err := sample.New(sample.Default(), vocab, sample.Options{})
//	if err != nil {
//		return err // names the parameter, what was found and what was expected
//	}
//	s.AcceptPrompt(prompt...)
//	for {
//		choice, err := s.Sample(logits) // [vocab] f32, the model's own
//		if err != nil {
//			return err
//		}
//		if err := s.Accept(choice.ID); err != nil {
//			return err
//		}
//		...
//	}
//
// # Order
//
// The samplers run in the order of llama.cpp's default chain, and mean what they mean there:
//
//  1. logit bias
//  2. the constraint, as a grammar
//  3. penalties: repeat, frequency, presence
//  4. DRY
//  5. top-n-sigma
//  6. top-k
//  7. locally typical
//  8. top-p
//  9. min-p
//  10. XTC
//  11. temperature, and a draw from what is left
//
// With Mirostat the chain is another, also as in llama.cpp: logit bias, the constraint, temperature, Mirostat. Neither
// the penalties and DRY nor the truncating samplers are part of it.
//
// Tokens that are banned, or whose logit is -Inf, are no candidates: no sampler counts them.
//
// # Differences from llama.cpp
//
//   - The zero value of every field of [Params] switches its sampler off, TopP's among them: there 0 keeps the
//     likeliest token alone, which here is Temperature 0 or TopK 1.
//   - The constraint acts before the other samplers, so that they share out the probability of allowed tokens only.
//     llama.cpp does so only if the token that it drew first is not allowed.
//   - A DRY sequence breaker that runs over several tokens is found by the text of the tokens, however it is cut into
//     tokens. llama.cpp looks for one way of cutting it.
//   - Equal logits are ordered by id, the lower first.
//   - A seed stands for itself: there is none that means "random".
//
// # The same on every platform
//
// Equal logits, parameters, seed and calls give equal tokens on every platform: random numbers are PCG's, all
// arithmetic is float64 without fused operations, and the exponentials are this package's own, because those of the
// standard library differ in the last bit between platforms.
package sample
