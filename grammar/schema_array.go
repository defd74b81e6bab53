package grammar

import (
	"fmt"
	"strconv"
	"strings"
)

// array returns an expression of the arrays that are valid by a spec. After prefixItems more items may come only if
// items says so, or if minItems needs them.
func (c *converter) array(s *spec, hint string) (string, error) {
	prefix, full, err := c.prefix(s, hint)
	if err != nil {
		return "", err
	}
	var rest []part
	for _, a := range s.arrs {
		if a.items != nil {
			if rest, err = c.flatten(a.items, rest); err != nil {
				return "", err
			}
		}
	}
	item := ""
	closed := full || rest == nil && len(prefix) > 0 && s.minItems <= len(prefix)
	switch {
	case closed:
	case rest == nil:
		item = c.shared("value")
	default:
		if item, err = c.rule(rest, hint+"-item"); err != nil {
			return "", err
		}
	}
	most := -1
	if item == "" {
		most = len(prefix)
	}
	if s.maxItems >= 0 && (most < 0 || s.maxItems < most) {
		most = s.maxItems
	}
	if most >= 0 && s.minItems > most {
		return "", nil
	}
	body, err := c.itemList(prefix, item, s, most, hint)
	if err != nil {
		return "", err
	}
	ws := c.shared("ws")
	switch {
	case most == 0:
		return `"[" ` + ws + ` "]"`, nil
	case s.minItems == 0:
		return `"[" ` + ws + " (" + body + " " + ws + `)? "]"`, nil
	}
	return `"[" ` + ws + " " + body + " " + ws + ` "]"`, nil
}

// prefix returns the rules of the first items, and whether there may be no more items because nothing is valid in the
// next place.
func (c *converter) prefix(s *spec, hint string) (rules []string, full bool, err error) {
	n := 0
	for _, a := range s.arrs {
		n = max(n, len(a.prefix))
	}
	for i := range n {
		var parts []part
		for _, a := range s.arrs {
			v := a.items
			if i < len(a.prefix) {
				v = a.prefix[i]
			}
			if v == nil {
				continue
			}
			if parts, err = c.flatten(v, parts); err != nil {
				return nil, false, err
			}
		}
		rule, err := c.rule(parts, hint+"-"+strconv.Itoa(i))
		if err != nil {
			return nil, false, err
		}
		if rule == "" {
			return rules, true, nil
		}
		rules = append(rules, rule)
	}
	return rules, false, nil
}

// itemList returns an expression of one item or more with commas between them.
func (c *converter) itemList(prefix []string, item string, s *spec, most int, hint string) (string, error) {
	comma := strings.TrimSpace(c.comma())
	n := len(prefix)
	if most >= 0 {
		n = min(n, most)
	}
	// What follows the first n items.
	tail := ""
	if most < 0 || most > n {
		done := max(n, 1) // without a prefix the first item is not of the tail
		least, limit := max(s.minItems-done, 0), ""
		if most >= 0 {
			limit = strconv.Itoa(most - done)
		}
		tail = fmt.Sprintf("(%s %s){%d,%s}", comma, item, least, limit)
	}
	if n == 0 {
		return item + " " + tail, nil
	}
	for i := n - 1; i > 0; i-- {
		tail = strings.TrimSpace(comma + " " + prefix[i] + " " + tail)
		if i < s.minItems {
			continue
		}
		// A rule of its own, for parentheses do not nest that deep.
		name, err := c.newRule(hint+"-rest", s.ptr)
		if err != nil {
			return "", err
		}
		if err := c.define(name, tail+` | ""`); err != nil {
			return "", err
		}
		tail = name
	}
	return strings.TrimSpace(prefix[0] + " " + tail), nil
}
