//go:build race

package main

// watched says whether the race detector watches: it makes small things larger.
const watched = true
