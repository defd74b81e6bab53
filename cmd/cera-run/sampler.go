package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// biasFlag is --logit-bias: an id, and what is added to its logit, with its sign between them as llama.cpp has it.
type biasFlag struct{ bias *map[int32]float32 }

func (f biasFlag) Type() string { return "ID(+|-)BIAS" }

func (f biasFlag) String() string {
	if f.bias == nil {
		return ""
	}
	var list []string
	for id, v := range *f.bias {
		list = append(list, fmt.Sprintf("%d%+g", id, v))
	}
	slices.Sort(list)
	return strings.Join(list, ",")
}

func (f biasFlag) Set(text string) error {
	at := strings.IndexAny(text, "+-")
	if at < 1 {
		return fmt.Errorf("%q is not a token id, + or - and a number, as 15043+1.5 or 15043-inf", text)
	}
	id, err := strconv.ParseUint(text[:at], 10, 31)
	if err != nil {
		return fmt.Errorf("%q is not a token id", text[:at])
	}
	v, err := strconv.ParseFloat(text[at:], 32)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 1) {
		return fmt.Errorf("%q is not a number, or -inf", text[at:])
	}
	if *f.bias == nil {
		*f.bias = map[int32]float32{}
	}
	(*f.bias)[int32(id)] = float32(v)
	return nil
}

// breakerFlag is --dry-sequence-breaker: the first takes the place of the defaults, and "none" of all.
type breakerFlag struct {
	list    *[]string
	changed bool
}

func (f *breakerFlag) Type() string { return "TEXT" }

func (f *breakerFlag) String() string {
	if f.list == nil {
		return ""
	}
	var quoted []string
	for _, s := range *f.list {
		quoted = append(quoted, strconv.Quote(s))
	}
	return strings.Join(quoted, " ")
}

func (f *breakerFlag) Set(text string) error {
	if !f.changed {
		*f.list, f.changed = nil, true
	}
	switch text {
	case "":
		return fmt.Errorf("it is empty, expected a text or none")
	case "none":
		*f.list = nil
	default:
		*f.list = append(*f.list, text)
	}
	return nil
}
