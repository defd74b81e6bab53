// Package grammar holds generated text to a grammar: GBNF as llama.cpp has it, or a JSON schema.
//
//	g, err := grammar.JSONSchema(schema) // or Parse(gbnf), JSON(), JSONObject()
//	if err != nil {
//		return err // names the line and column, or the part of the schema
//	}
//	v, err := grammar.NewVocabulary(texts, ends) // once for a model
//	...
//	c := g.Constrain(v)
//	s, err := sample.New(params, len(texts), sample.Options{Constraint: sample.Constrain(c)})
//
// What a [Matcher] or a [Constraint] has accepted can always be completed: a grammar with rules that never end is
// refused.
//
// # GBNF
//
// A grammar is rules, name ::= alternatives, one a line; root is the whole text. An alternative is a sequence of
//
//   - "literals", with \n \t \r \" \\ \[ \] \- and the code points \xHH, \uHHHH, \UHHHHHHHH
//   - [classes] of code points, [^negated] ones, and . for any
//   - names of rules: letters, digits, - and _
//   - (groups), within which lines may end
//
// each of which may be repeated: * + ? {m} {m,} {m,n}. Alternatives are separated by |, after which the line may end;
// # begins a comment. Differences from llama.cpp: tokens as <think> or <[1000]> cannot be named; a rule may not be
// defined twice; empty classes and ranges that run backwards are errors; a repetition is counted when it is matched, so
// that {0,100000} costs nothing, and what is repeated may stand for nothing. As there, rules that begin with themselves
// are refused.
//
// Characters are matched byte by byte of their UTF-8. A token may end within one; what is not UTF-8 is never allowed.
//
// # JSON schema
//
// Everything that is generated for a schema is valid by it (draft 2020-12). Known are
//
//   - type, also as a list; enum, const
//   - properties, required, additionalProperties
//   - items, prefixItems, minItems, maxItems
//   - minLength, maxLength; pattern; format: date, time, date-time, uuid, ipv4, hostname, email
//   - minimum, maximum, exclusiveMinimum, exclusiveMaximum
//   - anyOf, oneOf, allOf, $ref to a part of the schema, also to itself
//   - what restricts nothing: title, description, default, examples, names that begin with x- and so on
//
// Any other keyword is an error that names it by its JSON pointer. Not all valid documents are generated:
//
//   - Properties come in the order of the schema. Others come after them, and only if additionalProperties says so or
//     if no property is named; their names are spelled without \u and \/. As in llama.cpp additionalProperties is false if
//     it is not given. So is items after prefixItems, unless minItems asks for more.
//   - Without a type, keywords tell it: {"properties": ...} is an object.
//   - Between members there may be a blank or a line end and an indentation, as formatters write them; after a colon a
//     blank. Constants are spelled as briefly as can be.
//   - Integers have up to 18 digits, numbers 16 after the point and an exponent of two digits, or none if there is a limit.
//   - Of two schemas of a oneOf it must be plain that no value is valid by both. anyOf asks for no such thing.
//   - A pattern is a regular expression of package regexp (RE2), with ^ and $ only at its ends or those of its
//     alternatives. It does not go together with lengths or a format, and neither do lengths and formats.
//   - enum and const go together with types, and with no other restriction.
//
// # Cost
//
// The matcher follows all derivations at once and remembers where bytes lead. A mask of 131,072 tokens takes from some
// hundredths of a millisecond to some milliseconds where it is new, and a microsecond where it has been asked for
// before. Texts, repetitions, depth and memory are bounded; a grammar that is too ambiguous to be followed gives an
// error.
package grammar
