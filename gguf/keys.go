package gguf

import (
	"fmt"
	"reflect"
	"strconv"
)

// describe says what an entry holds, short enough for an error message.
func (kv KV) describe() string {
	switch v := kv.Value.(type) {
	case nil:
		return "nothing"
	case string:
		if len(v) > 40 {
			return fmt.Sprintf("a string of %d bytes", len(v))
		}
		return "string " + strconv.Quote(v)
	}
	if v := reflect.ValueOf(kv.Value); v.Kind() == reflect.Slice {
		elem := v.Type().Elem().String()
		if _, nested := kv.Value.([]any); nested {
			elem = "array"
		}
		return fmt.Sprintf("an array of %d %s", v.Len(), elem)
	}
	return fmt.Sprintf("%s %v", kv.Type, kv.Value)
}

// Lookup returns the value of a key as the file holds it; see [KV] for its Go type.
func (f *File) Lookup(key string) (value any, t ValueType, ok bool) {
	if kv, ok := f.kv(key); ok {
		return kv.Value, kv.Type, true
	}
	return nil, 0, false
}

// Has reports whether the file has the key.
func (f *File) Has(key string) bool {
	_, ok := f.kv(key)
	return ok
}

func (f *File) kv(key string) (KV, bool) {
	if f == nil {
		return KV{}, false
	}
	i, ok := f.keys[key]
	if !ok || i >= len(f.Keys) {
		return KV{}, false
	}
	return f.Keys[i], true
}

// get converts the value of a key. Whatever goes wrong is a *KeyError.
func get[T any](f *File, key, want string, convert func(any) (T, bool)) (T, error) {
	var zero T
	e := &KeyError{Key: key, Want: want}
	if f != nil {
		e.Path = f.Path
	}
	kv, ok := f.kv(key)
	if !ok {
		return zero, e
	}
	v, ok := convert(kv.Value)
	if !ok {
		e.Got = kv.describe()
		return zero, e
	}
	return v, nil
}

// String returns the value of a string key. Like all typed getters it returns a *KeyError that names the key if it is
// absent (errors.Is(err, ErrMissing)) or of another type.
func (f *File) String(key string) (string, error) {
	return get(f, key, "a string", func(v any) (string, bool) { s, ok := v.(string); return s, ok })
}

// Bool returns the value of a bool key.
func (f *File) Bool(key string) (bool, error) {
	return get(f, key, "a bool", func(v any) (bool, bool) { b, ok := v.(bool); return b, ok })
}

// Uint returns the value of a key of any integer type that is not negative.
func (f *File) Uint(key string) (uint64, error) {
	return get(f, key, "a non-negative integer", toUint)
}

// Float returns the value of a float32 or float64 key.
func (f *File) Float(key string) (float64, error) {
	return get(f, key, "a float32 or float64", func(v any) (float64, bool) {
		switch v := v.(type) {
		case float32:
			return float64(v), true
		case float64:
			return v, true
		}
		return 0, false
	})
}

// Strings returns the value of a key that is an array of strings. The slice belongs to f and must not be changed.
func (f *File) Strings(key string) ([]string, error) {
	return get(f, key, "an array of strings", func(v any) ([]string, bool) { s, ok := v.([]string); return s, ok })
}

// Uints returns the value of a key that is an array of any integer type, none of them negative, in fresh memory.
func (f *File) Uints(key string) ([]uint64, error) {
	return get(f, key, "an array of non-negative integers", func(v any) ([]uint64, bool) {
		switch v := v.(type) {
		case []uint8:
			return toUints(v)
		case []int8:
			return toUints(v)
		case []uint16:
			return toUints(v)
		case []int16:
			return toUints(v)
		case []uint32:
			return toUints(v)
		case []int32:
			return toUints(v)
		case []uint64:
			return toUints(v)
		case []int64:
			return toUints(v)
		}
		return nil, false
	})
}

// Floats returns the value of a key that is an array of float32, or of float64 rounded to float32. The slice may
// belong to f and must not be changed.
func (f *File) Floats(key string) ([]float32, error) {
	return get(f, key, "an array of float32 or float64", func(v any) ([]float32, bool) {
		switch v := v.(type) {
		case []float32:
			return v, true
		case []float64:
			out := make([]float32, len(v))
			for i, x := range v {
				out[i] = float32(x)
			}
			return out, true
		}
		return nil, false
	})
}

// Bools returns the value of a key that is an array of bools. The slice belongs to f and must not be changed.
func (f *File) Bools(key string) ([]bool, error) {
	return get(f, key, "an array of bools", func(v any) ([]bool, bool) { b, ok := v.([]bool); return b, ok })
}

type integer interface {
	uint8 | int8 | uint16 | int16 | uint32 | int32 | uint64 | int64
}

func toUints[T integer](v []T) ([]uint64, bool) {
	out := make([]uint64, len(v))
	for i, x := range v {
		if x < 0 {
			return nil, false
		}
		out[i] = uint64(x)
	}
	return out, true
}

func toUint(v any) (uint64, bool) {
	switch v := v.(type) {
	case uint8:
		return uint64(v), true
	case uint16:
		return uint64(v), true
	case uint32:
		return uint64(v), true
	case uint64:
		return v, true
	case int8:
		return uint64(v), v >= 0
	case int16:
		return uint64(v), v >= 0
	case int32:
		return uint64(v), v >= 0
	case int64:
		return uint64(v), v >= 0
	}
	return 0, false
}
