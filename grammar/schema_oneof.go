package grammar

import "slices"

// oneOf asks for exactly one of its schemas, and a grammar can only say "one of them or another". So they must be seen
// to exclude each other.

const (
	maxDisjointDepth = 8   // of properties within properties that are compared
	maxOneOf         = 256 // schemas, each of which is compared with each
)

// checkDisjoint refuses a oneOf of which two schemas may be valid together, for a value that is valid by parts.
func (c *converter) checkDisjoint(list *value, parts []part) error {
	if n := len(list.items); n > maxOneOf {
		return schemaError(list.ptr, "found %d schemas, expected at most %d", n, maxOneOf)
	}
	specs := make([]*spec, len(list.items))
	for i, sub := range list.items {
		all, err := c.flatten(sub, slices.Clone(parts))
		if err != nil {
			return err
		}
		if specs[i], err = newSpec(all); err != nil {
			return err
		}
	}
	for j := range specs {
		for i := range j {
			apart, err := c.disjoint(specs[i], specs[j], 0)
			if err != nil {
				return err
			}
			if !apart {
				return schemaError(list.ptr,
					"a value may be valid by both %d and %d: expected schemas that differ in type, "+
						"in constants, or in the type or constants of a required property; anyOf asks for no such thing",
					i, j)
			}
		}
	}
	return nil
}

// disjoint reports whether it is plain that no value is valid by both.
func (c *converter) disjoint(a, b *spec, depth int) (bool, error) {
	types := a.types & b.types
	switch {
	case types == 0:
		return true, nil
	case a.values != nil || b.values != nil:
		common := func(v *value) bool { return v.typeOf()&types != 0 && hasValue(a, v) && hasValue(b, v) }
		return !slices.ContainsFunc(valuesOr(a, b), common), nil
	case types != typeObject || depth == maxDisjointDepth:
		return false, nil
	}
	inA, err := c.properties(a)
	if err != nil {
		return false, err
	}
	inB, err := c.properties(b)
	if err != nil {
		return false, err
	}
	for _, p := range inA {
		i := slices.IndexFunc(inB, func(q property) bool { return q.name == p.name })
		if i < 0 {
			if p.required && closed(b) {
				return true, nil
			}
			continue
		}
		q := inB[i]
		if !p.required && !q.required {
			continue
		}
		if p.none || q.none {
			return true, nil
		}
		apart, err := c.disjointParts(p.parts, q.parts, depth+1)
		if apart || err != nil {
			return apart, err
		}
	}
	return closed(a) && slices.ContainsFunc(inB, func(q property) bool {
		return q.required && !slices.ContainsFunc(inA, func(p property) bool { return p.name == q.name })
	}), nil
}

func (c *converter) disjointParts(a, b []part, depth int) (bool, error) {
	if a == nil || b == nil {
		return false, nil
	}
	x, err := newSpec(a)
	if err != nil {
		return false, err
	}
	y, err := newSpec(b)
	if err != nil {
		return false, err
	}
	return c.disjoint(x, y, depth)
}

// closed reports whether additionalProperties forbids what is not named.
func closed(s *spec) bool {
	return slices.ContainsFunc(s.objs, func(o objectPart) bool {
		return o.additional != nil && o.additional.kind == kindBool && !o.additional.yes
	})
}

// valuesOr returns the constants of one of two specs.
func valuesOr(a, b *spec) []*value {
	if a.values != nil {
		return a.values
	}
	return b.values
}

// hasValue reports whether a spec's constants have a value, true if it has none.
func hasValue(s *spec, v *value) bool {
	return s.values == nil || slices.ContainsFunc(s.values, func(w *value) bool { return w.same() == v.same() })
}
