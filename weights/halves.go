package weights

import "cera/backend"

// Halves returns where the blocks of a format hold scales and then minima as halves, in bytes. The formats of single elements have
// none, and IQ1_M, MXFP4 and NVFP4 have scales of another form.
func Halves(f backend.Format) []int { return halves[f] }

var halves = map[backend.Format][]int{
	backend.Q4_0:    {0},
	backend.Q4_1:    {0, 2},
	backend.Q5_0:    {0},
	backend.Q5_1:    {0, 2},
	backend.Q8_0:    {0},
	backend.Q2_K:    {80, 82},
	backend.Q3_K:    {108},
	backend.Q4_K:    {0, 2},
	backend.Q5_K:    {0, 2},
	backend.Q6_K:    {208},
	backend.IQ4_NL:  {0},
	backend.IQ4_XS:  {0},
	backend.Q1_0:    {0},
	backend.Q2_0:    {0},
	backend.TQ1_0:   {52},
	backend.TQ2_0:   {64},
	backend.IQ1_S:   {0},
	backend.IQ2_XXS: {0},
	backend.IQ2_XS:  {0},
	backend.IQ2_S:   {0},
	backend.IQ3_XXS: {0},
	backend.IQ3_S:   {0},
}
