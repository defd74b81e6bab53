package main

import "testing"

func TestParseSize(t *testing.T) {
	for _, c := range []struct {
		text string
		want int64 // 0: refused
	}{
		{"1", 1}, {"4096", 4096}, {"8GiB", 8 << 30}, {"500MB", 500e6}, {"1.5g", 3 << 29}, {"2 KiB", 2048}, {"7b", 7},
		{"1TB", 1e12},
		{"", 0}, {"0", 0}, {"-1", 0}, {"GiB", 0}, {"1XB", 0}, {"1GiBB", 0}, {"NaN", 0}, {"Inf", 0}, {"1e30", 0},
		{"0.5", 0}, {"9e18GiB", 0},
	} {
		got, err := parseSize(c.text)
		if got != c.want || (err == nil) != (c.want > 0) {
			t.Errorf("%q: found %d, %v, expected %d", c.text, got, err, c.want)
		}
	}
}
