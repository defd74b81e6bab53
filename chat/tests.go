package chat

type testFunc func(r *run, v any, a args) bool

var tests map[string]testFunc

func init() {
	tests = map[string]testFunc{
		"defined":   plainTest("defined", func(v any) bool { _, ok := v.(undefined); return !ok }),
		"undefined": plainTest("undefined", func(v any) bool { _, ok := v.(undefined); return ok }),
		"none":      plainTest("none", func(v any) bool { return v == nil }),
		"boolean":   plainTest("boolean", func(v any) bool { _, ok := v.(bool); return ok }),
		"true":      plainTest("true", func(v any) bool { return v == true }),
		"false":     plainTest("false", func(v any) bool { return v == false }),
		"string":    plainTest("string", func(v any) bool { _, ok := v.(string); return ok }),
		"integer":   plainTest("integer", func(v any) bool { _, ok := v.(int64); return ok }),
		"float":     plainTest("float", func(v any) bool { _, ok := v.(float64); return ok }),
		"number":    plainTest("number", func(v any) bool { _, ok := number(v); return ok }),
		"mapping":   plainTest("mapping", func(v any) bool { _, ok := v.(*dict); return ok }),
		"callable":  plainTest("callable", func(v any) bool { _, ok := v.(*function); return ok }),
		"sequence":  plainTest("sequence", isSequence),
		"iterable":  plainTest("iterable", isSequence),
		"odd":       func(r *run, v any, a args) bool { a.none(r, "odd"); return r.remainder("odd", v, 2) == 1 },
		"even":      func(r *run, v any, a args) bool { a.none(r, "even"); return r.remainder("even", v, 2) == 0 },
		"divisibleby": func(r *run, v any, a args) bool {
			return r.remainder("divisibleby", v, r.intArg("divisibleby", a.take(r, "divisibleby", "num")[0], 1)) == 0
		},
		"lower": func(r *run, v any, a args) bool {
			a.none(r, "lower")
			return isLower(r.text(v))
		},
		"upper": func(r *run, v any, a args) bool {
			a.none(r, "upper")
			return isUpper(r.text(v))
		},
		"in": func(r *run, v any, a args) bool { return r.contains(a.take(r, "in", "seq")[0], v) },
		"sameas": func(r *run, v any, a args) bool {
			other := a.take(r, "sameas", "other")[0]
			_, number := v.(int64)
			_, text := v.(string)
			return v == other || (number || text) && r.equal(v, other)
		},
	}
	// select takes them by the operator as well.
	for op, names := range map[string][]string{
		"==": {"eq", "equalto"}, "!=": {"ne"}, "<": {"lt", "lessthan"}, ">": {"gt", "greaterthan"}, "<=": {"le"},
		">=": {"ge"},
	} {
		for _, name := range append(names, op) {
			tests[name] = func(r *run, v any, a args) bool { return relations[op](r, v, a.take(r, name, "other")[0]) }
		}
	}
}

func plainTest(name string, is func(v any) bool) testFunc {
	return func(r *run, v any, a args) bool {
		a.none(r, name)
		return is(v)
	}
}

func isSequence(v any) bool {
	switch v.(type) {
	case string, *list, *dict:
		return true
	}
	return false
}

// remainder is that of a division, as Python's: of the sign of n.
func (r *run) remainder(name string, v any, n int64) int64 {
	switch v.(type) {
	case int64, bool:
		return r.arithmetic("%", v, n).(int64)
	}
	r.fail("%s takes an integer, found %s", name, typeName(v))
	return 0
}
