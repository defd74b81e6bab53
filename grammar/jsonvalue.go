package grammar

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

type valueKind uint8

const (
	kindNull valueKind = iota
	kindBool
	kindNumber
	kindString
	kindArray
	kindObject
)

// value is a JSON value whose object keeps its order.
type value struct {
	kind   valueKind
	yes    bool   // of a boolean
	text   string // of a string or a number
	items  []*value
	keys   []string
	fields map[string]*value
	ptr    string // where it is in the document: a JSON pointer with # in front
}

// maxNesting is how deep a schema may be nested.
const maxNesting = 200

// A SchemaError says which part of a JSON schema cannot be turned into a grammar.
type SchemaError struct {
	Pointer string // a JSON pointer as a URI fragment: #/properties/name
	Msg     string
}

func (e *SchemaError) Error() string { return fmt.Sprintf("grammar: schema %s: %s", e.Pointer, e.Msg) }

func schemaError(ptr, format string, args ...any) error {
	return &SchemaError{ptr, fmt.Sprintf(format, args...)}
}

// parseValue reads a JSON document.
func parseValue(doc []byte) (*value, error) {
	if len(doc) > maxSource {
		return nil, schemaError("#", "the schema has %d bytes, expected at most %d", len(doc), maxSource)
	}
	if !utf8.Valid(doc) {
		return nil, schemaError("#", "the schema is not UTF-8")
	}
	var all json.RawMessage
	if err := json.Unmarshal(doc, &all); err != nil {
		return nil, schemaError("#", "not JSON: %v", err)
	}
	d := json.NewDecoder(bytes.NewReader(all))
	d.UseNumber()
	return readValue(d, "#", 0)
}

func readValue(d *json.Decoder, ptr string, depth int) (*value, error) {
	if depth > maxNesting {
		return nil, schemaError(ptr, "values are nested more than %d deep", maxNesting)
	}
	tok, err := d.Token()
	if err != nil {
		return nil, schemaError(ptr, "not JSON: %v", err)
	}
	v := &value{ptr: ptr}
	switch tok := tok.(type) {
	case nil:
		return v, nil
	case bool:
		v.kind, v.yes = kindBool, tok
		return v, nil
	case json.Number:
		v.kind, v.text = kindNumber, tok.String()
		return v, nil
	case string:
		v.kind, v.text = kindString, tok
		return v, nil
	case json.Delim:
		if tok == '[' {
			v.kind = kindArray
			for d.More() {
				item, err := readValue(d, ptr+"/"+strconv.Itoa(len(v.items)), depth+1)
				if err != nil {
					return nil, err
				}
				v.items = append(v.items, item)
			}
			break
		}
		v.kind, v.fields = kindObject, map[string]*value{}
		for d.More() {
			if err := v.readField(d, depth); err != nil {
				return nil, err
			}
		}
	}
	if _, err := d.Token(); err != nil { // the closing bracket
		return nil, schemaError(ptr, "not JSON: %v", err)
	}
	return v, nil
}

func (v *value) readField(d *json.Decoder, depth int) error {
	tok, err := d.Token()
	if err != nil {
		return schemaError(v.ptr, "not JSON: %v", err)
	}
	key, _ := tok.(string) // the decoder lets nothing else through
	at := v.ptr + "/" + escapePointer(key)
	if _, ok := v.fields[key]; ok {
		return schemaError(at, "the key is there twice")
	}
	field, err := readValue(d, at, depth+1)
	if err != nil {
		return err
	}
	v.keys = append(v.keys, key)
	v.fields[key] = field
	return nil
}

func escapePointer(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// typeOf returns the JSON schema type of a value; of a whole number "integer".
func (v *value) typeOf() typeSet {
	switch v.kind {
	case kindNull:
		return typeNull
	case kindBool:
		return typeBool
	case kindString:
		return typeString
	case kindArray:
		return typeArray
	case kindObject:
		return typeObject
	}
	if d, err := parseDecimal(v.text); err == nil && d.frac == "" {
		return typeInteger
	}
	return typeFraction
}

// same returns a text that two values have in common if and only if JSON schema takes them for equal.
func (v *value) same() string {
	switch v.kind {
	case kindNumber:
		if d, err := parseDecimal(v.text); err == nil {
			return d.String()
		}
		return v.text
	case kindArray:
		parts := make([]string, len(v.items))
		for i, item := range v.items {
			parts[i] = item.same()
		}
		return "[" + strings.Join(parts, ",") + "]"
	case kindObject:
		parts := make([]string, 0, len(v.keys))
		for _, key := range sortedKeys(v.fields) {
			parts = append(parts, quoteJSON(key)+":"+v.fields[key].same())
		}
		return "{" + strings.Join(parts, ",") + "}"
	case kindString:
		return quoteJSON(v.text)
	case kindBool:
		return strconv.FormatBool(v.yes)
	}
	return "null"
}

// quoteJSON writes a JSON string in the shortest way: nothing is escaped that need not be.
func quoteJSON(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		b.WriteString(escapeJSON(r))
	}
	b.WriteByte('"')
	return b.String()
}

// escapeJSON writes a character of a JSON string.
func escapeJSON(r rune) string {
	if i := strings.IndexRune("\"\\\b\f\n\r\t", r); i >= 0 {
		return `\` + `"\bfnrt`[i:i+1]
	}
	if r < 0x20 {
		return fmt.Sprintf(`\u%04x`, r)
	}
	return string(r)
}
