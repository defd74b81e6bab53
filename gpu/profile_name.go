//go:build cgo

package gpu

import (
	"fmt"
	"reflect"
	"strings"

	"cera/shaders"
)

// kernel names what a step runs.
func (s *step) kernel() string {
	if s.pipe == nil {
		return s.what
	}
	return kernelName(s.variant)
}

// kernelName is a variant's entry point and, of its fields, what is not zero: texts as they are, numbers and switches
// by their names.
func kernelName(v shaders.Variant) string {
	words := []string{v.Program().Entry}
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		for i := range v.NumField() {
			f, name := v.Field(i), strings.ToLower(v.Type().Field(i).Name)
			switch f.Kind() {
			case reflect.Struct:
				walk(f)
			case reflect.String:
				if f.Len() > 0 {
					words = append(words, f.String())
				}
			case reflect.Bool:
				if f.Bool() {
					words = append(words, name)
				}
			default:
				if !f.IsZero() {
					words = append(words, fmt.Sprintf("%s=%v", name, f))
				}
			}
		}
	}
	walk(reflect.ValueOf(v))
	return strings.Join(words, " ")
}
