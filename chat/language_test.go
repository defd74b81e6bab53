package chat

import (
	"errors"
	"strings"
	"testing"
)

// TestLanguage: what Jinja2 with trim_blocks and lstrip_blocks writes, worked out by its rules.
func TestLanguage(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		// White space.
		{"trim block", "{% if true %}\nx\n{% endif %}\ny", "x\ny"},
		{"trim comment", "a{# c #}\nb", "ab"},
		{"no trim after output", "{{ 1 }}\nx", "1\nx"},
		{"plus keeps the line end", "{% if true +%}\nx{% endif %}", "\nx"},
		{"lstrip block", "a\n  {% if true %}b{% endif %}", "a\nb"},
		{"lstrip at the start", "  {% if true %}b{% endif %}", "b"},
		{"no lstrip after text", "a  {% if true %}b{% endif %}", "a  b"},
		{"no lstrip after a tag", "{% if true %} {% endif %}b", " b"},
		{"no lstrip of output", "a\n  {{ 1 }}", "a\n  1"},
		{"plus keeps blanks", "a\n  {%+ if true %}b{% endif %}", "a\n  b"},
		{"lstrip after a trimmed line", "{% if true %}\n  {% if true %}b{% endif %}{% endif %}", "b"},
		{"minus", " a \n {%- if true -%} \n b {%- endif %} c", " ab c"},
		{"minus in output", "a {{- ' ' -}} b", "a b"},
		{"a minus is a sign too", "{{ -1 }}{{ 2 -1 }}{{ 3-1 }}", "-112"},
		{"one line end at the end goes", "a\n\n", "a\n"},
		{"carriage returns", "a\r\nb\rc", "a\nb\nc"},
		{"comment with signs", "a {#- {{ x -#} b", "ab"},
		{"raw", "{% raw %}{{ x }}{% y %}{% endraw %}!", "{{ x }}{% y %}!"},
		{"raw with minus", "a {%- raw -%} {{ {%- endraw -%} b", "a{{b"},
		{"tags within strings", "{{ '%}' ~ '}}' ~ \"{{\" }}", "%}}}{{"},
		{"dict before the end", "{{ {'a': {'b': 1}}['a']['b'] }}", "1"},
		{"lone braces", "{ } {x} }} %}", "{ } {x} }} %}"},
		// Literals.
		{"escapes", `{{ 'a\n\t\\\'\x41é\101\q' }}`, "a\n\t\\'AéA\\q"},
		{"backslash at the end", `{{ '\\' }}{{ "\\" }}`, `\\`},
		{"strings side by side", "{{ 'a' 'b' \"c\" }}", "abc"},
		{"numbers", "{{ 1_000 }} {{ 1.5 }} {{ 2e3 }} {{ 1e16 }} {{ 0.00001 }} {{ 10 / 5 }}",
			"1000 1.5 2000.0 1e+16 1e-05 2.0"},
		{"constants", "{{ true }} {{ False }} {{ none }} {{ None }}", "True False None None"},
		{"list, tuple, dict", "{{ [1, 'a', (2,), ()] }} {{ {'a': none, 1: [true]} }}",
			"[1, 'a', (2,), ()] {'a': None, 1: [True]}"},
		{"repr of strings", `{{ ["it's", 'a"b', 'a\'b"', '\n\x01'] }}`, `["it's", 'a"b', 'a\'b"', '\n\x01']`},
		// Operators.
		{"precedence", "{{ 1 + 2 * 3 ** 2 }} {{ (1 + 2) * 3 }} {{ 2 ~ 3 * 2 }} {{ -2 ** 2 }}", "19 9 26 4"},
		{"division", "{{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 % -3 }} {{ 7.5 // 2 }} {{ 2 ** -1 }}",
			"3 -4 2 -2 3.0 0.5"},
		{"strings", "{{ 'a' + 'b' }} {{ 'ab' * 3 }} {{ 1 ~ none }} {{ [1] + [2] }}", "ab ababab 1None [1, 2]"},
		{"logic gives values", "{{ '' or 'x' }} {{ 'a' and 'b' }} {{ 0 and 1 }} {{ not '' }} {{ not not 1 }}",
			"x b 0 True True"},
		{"and binds more than or", "{{ true or false and false }}", "True"},
		{"in and logic", "{{ 1 in [1] and true }} {{ 2 not in [1] and 'x' in 'xy' }}", "True True"},
		{"chained comparison", "{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 1 == 1.0 }} {{ 'a' < 'b' }} {{ [1, 2] < [1, 3] }}",
			"True False True True True"},
		{"comparison of logic", "{{ (1 == 1) != (2 == 3) }} {{ true == 1 }}", "True True"},
		{"condition", "{{ 'a' if false else 'b' if false else 'c' }}{{ 'x' if false }}{{ 'p' + ('q' if true " +
			"else 'r') }}", "cpq"},
		{"filter before operator", "{{ ' a ' | trim + '|' }} {{ -1 | abs }}", "a| 1"},
		{"length minus", "{{ [1, 2, 3] | length - 1 }}", "2"},
		// Items, slices, attributes.
		{"negative index", "{{ [7][-1] }} {{ 'héy'[1] }} {{ 'héy'[-1] }}", "7 é y"},
		{"slices", "{% set l = [0, 1, 2, 3, 4] %}{{ l[1:] }}{{ l[:-1] }}{{ l[::-1] }}{{ l[1:4:2] }}{{ l[-2:] }}{{ " +
			"l[9:] }}{{ l[3:0:-2] }}{{ 'héllo'[1:3] }}",
			"[1, 2, 3, 4][0, 1, 2, 3][4, 3, 2, 1, 0][1, 3][3, 4][][3, 1]él"},
		{"undefined is empty", "[{{ x }}{{ messages[5] }}{{ messages[0].none_such }}{% for i in x %}!{% endfor %}]",
			"[]"},
		{"item by a number after a dot", "{{ [[1, 2], 3].0.1 }}", "2"},
		{"items that look like methods", "{% set d = {'items': 1} %}{{ d['items'] }}{{ d.items() | length }}", "11"},
		// Tests.
		{"defined", "{{ x is defined }} {{ messages is defined }} {{ tools is defined }} {{ tools is none }} {{ x is " +
			"not defined }}", "False True True True True"},
		{"defined and more", "{{ messages is defined and messages | length > 0 }} {{ x is undefined or false }}",
			"True True"},
		{"types", "{{ 'a' is string }} {{ 1 is number }} {{ 1.0 is integer }} {{ {} is mapping }} {{ [] is iterable " +
			"}} {{ true is boolean }} {{ 1 is true }}", "True True False True True True False"},
		{"tests with arguments",
			"{{ 4 is divisibleby 2 }} {{ 4 is divisibleby(3) }} {{ 3 is odd }} {{ 1 is in [1] }} {{ 1 is eq 1 }} {{ " +
				"2 is gt(1) }}",
			"True False True True True True"},
		{"test in a condition", "{{ 'y' if tools is none else 'n' }}", "y"},
		{"not with is", "{{ not tools is defined }} {{ not x is defined }}", "False True"},
		// Statements.
		{"loop", "{% for i in 'abc' %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.first }}{{ " +
			"loop.last }}{{ loop.length }} {% endfor %}", "103TrueFalse3 212FalseFalse3 321FalseTrue3 "},
		{"loop neighbours", "{% for i in [1, 2] %}{{ loop.previtem }}-{{ loop.nextitem }} {% endfor %}", "-2 1- "},
		{"loop cycle and changed",
			"{% for i in [1, 1, 2] %}{{ loop.cycle('a', 'b') }}{{ loop.changed(i) }} {% endfor %}",
			"aTrue bFalse aTrue "},
		{"loop else and condition",
			"{% for i in [] %}{% else %}none{% endfor %}{% for i in range(6) if i is even %}{{ i }}{{ loop.index }} " +
				"{% endfor %}",
			"none01 22 43 "},
		{"loop over pairs", "{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}{{ v }}{% endfor %}{% for (a, b) in " +
			"[(1, 2)] %}{{ a + b }}{% endfor %}", "a1b23"},
		{"break and continue", "{% for i in range(9) %}{% if i == 1 %}{% continue %}{% endif %}{% if i == 4 %}{% " +
			"break %}{% endif %}{{ i }}{% endfor %}", "023"},
		{"depth", "{% for i in [1] %}{% for j in [1] %}{{ loop.depth }}{% endfor %}{{ loop.depth0 }}{% endfor %}",
			"20"},
		{"set stays in a loop", "{% set a = 1 %}{% for i in [1] %}{% set a = 2 %}{{ a }}{% endfor %}{{ a }}", "21"},
		{"set leaves an if", "{% if true %}{% set a = 2 %}{% endif %}{{ a }}", "2"},
		{"namespace", "{% set ns = namespace(a=1, b='x') %}{% for i in [1, 2] %}{% set ns.a = ns.a + i %}{% endfor " +
			"%}{{ ns.a }}{{ ns.b }}", "4x"},
		{"set of several", "{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set c = 1, 2 %}{{ c }}", "12(1, 2)"},
		{"set of a block", "{% set a %}x{{ 1 }} {% endset %}[{{ a }}]{% set b | trim | upper %} y {% endset %}[{{ b }}]", "[x1 ][Y]"},
		{"filter block", "{% filter upper | trim %} a{{ 'b' }} {% endfilter %}", "AB"},
		{"macro", "{% macro m(a, b='z') %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}{{ m(1, 2) }}{{ m(b=3, a=4) }}{{ m() }}", "1z1243z"},
		{"macro within itself", "{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}", "3210"},
		{"generation", "{% generation %}\nx{% endgeneration %}\ny", "xy"},
		{"elif", "{% for i in range(3) %}{% if i == 0 %}a{% elif i == 1 %}b{% else %}c{% endif %}{% endfor %}", "abc"},
		// Methods, filters and functions.
		{"strip", "[{{ ' a\n'.strip() }}][{{ ' a\n'.lstrip() }}][{{ ' a\n'.rstrip() }}][{{ 'xxayx'.strip('xy') }}]",
			"[a][a\n][ a][a]"},
		{"split", "{{ ' a  b '.split() }}{{ 'a,b,,c'.split(',') }}{{ 'a,b,c'.split(',', 1) }}{{ 'a,b,c'.rsplit(',', " +
			"1) }}{{ 'a\nb\n'.splitlines() }}", "['a', 'b']['a', 'b', '', 'c']['a', 'b,c']['a,b', 'c']['a', 'b']"},
		{"starts and ends", "{{ 'abc'.startswith('ab') }}{{ 'abc'.endswith(('x', 'c')) }}{{ 'abc'.startswith('b') }}",
			"TrueTrueFalse"},
		{"case", "{{ 'aB cd'.upper() }}{{ 'AB'.lower() }}{{ 'hello wORLD'.title() }}{{ 'hELLO'.capitalize() }}",
			"AB CDabHello WorldHello"},
		{"replace", "{{ 'aaa'.replace('a', 'b') }}{{ 'aaa'.replace('a', 'b', 2) }}{{ 'ab' | replace('a', 'x') }}{{ " +
			"'ab'.replace('', '-') }}", "bbbbbaxb-a-b-"},
		{"find and count", "{{ 'éab'.find('b') }}{{ 'ab'.find('z') }}{{ 'abab'.rfind('a') }}{{ 'abab'.count('ab') }}",
			"2-122"},
		{"prefix and suffix", "{{ 'abc'.removeprefix('a') }}{{ 'abc'.removesuffix('c') }}{{ '12'.isdigit() }}{{ " +
			"''.isdigit() }}", "bcabTrueFalse"},
		{"join", "{{ ', '.join(['a', 'b']) }}{{ [1, 2] | join('-') }}{{ [{'a': 1}] | join(attribute='a') }}",
			"a, b1-21"},
		{"dict methods", "{% set d = {'b': 1, 'a': 2} %}{{ d.keys() | list }}{{ d.values() | list }}{{ d.get('x') " +
			"}}{{ d.get('x', 3) }}{{ d | dictsort }}", "['b', 'a'][1, 2]None3[('a', 2), ('b', 1)]"},
		{"tojson", "{{ {'a': [1, none, true, 'é\"\n<'], 'b': 1.0} | tojson }}",
			`{"a": [1, null, true, "é\"\n<"], "b": 1.0}`},
		{"tojson indented", "{{ {'b': [], 'a': [1]} | tojson(indent=2) }}",
			"{\n  \"b\": [],\n  \"a\": [\n    1\n  ]\n}"},
		{"tojson options", "{{ {'b': 1, 'a': [1, 2]} | tojson(separators=(',', ':'), sort_keys=true) }}",
			`{"a":[1,2],"b":1}`},
		{"map and select", "{{ messages | map(attribute='role') | list }}{{ [1, 2, 3] | select('odd') | list }}{{ " +
			"['a'] | map('upper') | list }}{{ messages | selectattr('role', 'equalto', 'user') | list | length }}{{ " +
			"[0, 1] | reject | list }}",
			"['system', 'user'][1, 3]['A']1[0]"},
		{"order", "{{ [3, 1, 2] | sort }}{{ ['b', 'A'] | sort }}{{ [1, 2] | reverse | list }}{{ 'ab' | reverse }}{{ " +
			"[1, 1, 2] | unique | list }}{{ [1, 2] | sum }}{{ [1, 2] | max }}{{ [3, 1] | sort(reverse=true) }}",
			"[1, 2, 3]['A', 'b'][2, 1]ba[1, 2]32[3, 1]"},
		{"conversions", "{{ '12' | int + 1 }}{{ 'x' | int(7) }}{{ '1.5' | float }}{{ 3.7 | int }}{{ 1 | string + 'a' " +
			"}}{{ 2.5 | round }}{{ x | default('d') }}{{ '' | default('e', true) }}", "1371.531a2.0de"},
		{"indent", "{{ 'a\nb\n\nc' | indent(2) }}|{{ 'a\nb' | indent('>', true) }}", "a\n  b\n\n  c|>a\n>b"},
		{"escape", "{{ '<a>&' }}{{ '<a>' | e }}{{ '<a>' | safe }}", "<a>&&lt;a&gt;<a>"},
		{"first and last", "{{ [1, 2] | first }}{{ [1, 2] | last }}{{ 'ab' | length }}{{ 'é' | count }}", "1221"},
		{"range", "{{ range(3) | list }}{{ range(1, 3) | list }}{{ range(5, 0, -2) | list }}",
			"[0, 1, 2][1, 2][5, 3, 1]"},
		{"dict function", "{{ dict(a=1) }}{{ dict({'b': 2}, c=3) }}", "{'a': 1}{'b': 2, 'c': 3}"},
		{"strftime", "{{ strftime_now('%Y-%m-%d %H:%M:%S %B %b %A %a %j %I %p %y %-d %%') }}",
			"2031-03-07 09:05:02 March Mar Friday Fri 066 09 AM 31 7 %"},
		{"variables", "{{ bos_token }}{{ eos_token }}{{ add_generation_prompt }}{{ messages[0]['role'] }}{{ " +
			"messages[1].content }}", "<s></s>TruesystemHi, who? "},
	} {
		t.Run(c.name, func(t *testing.T) {
			tmpl, err := New("test", c.text)
			if err != nil {
				t.Fatal(err)
			}
			got, err := tmpl.Render([]Message{system, user}, testOptions)
			if err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("%q gave\n%q, expected\n%q", c.text, got, c.want)
			}
		})
	}
}

// TestRejects: what is wrong is an *Error that says what and where; parse tells whether New finds it or Render.
func TestRejects(t *testing.T) {
	deep := strings.Repeat("{% if true %}", 300)
	for _, c := range []struct {
		name, text string
		parse      bool
		line       int
		want       string
	}{
		{"too large", strings.Repeat("a", MaxTemplate+1), true, 0, "it has 1048577 bytes, expected at most 1048576"},
		{"no end of a tag", "a\n{{ x", true, 2, `a tag has no end, expected "}}"`},
		{"no end of a string", "{{ 'x }}", true, 1, "a string has no end"},
		{"no end of a comment", "\n{# x", true, 2, "a comment has no end"},
		{"no endraw", "{% raw %}x", true, 1, "raw has no endraw"},
		{"no endfor", "{% for i in x %}\n", true, 1, "found the end of the template, expected endfor"},
		{"no endif", "{% if x %}\n\n{% else %}", true, 3, "expected endif"},
		{"endif alone", "\n{% endif %}", true, 2, `unexpected "endif"`},
		{"wrong end", "{% for i in x %}{% endif %}", true, 1, `unexpected statement "endif"`},
		{"unknown statement", "{% frobnicate %}", true, 1, `unexpected statement "frobnicate"`},
		{"include", "{% include 'secret' %}", true, 1, `the statement "include": a template may not read other files`},
		{"import", "{% import 'x' as y %}", true, 1, "may not read other files"},
		{"call block", "{% call f() %}", true, 1, `the statement "call": it is not supported`},
		{"unknown filter", "a\n\n{{ x | frobnicate }}", true, 3, `the filter "frobnicate" is not known`},
		{"unknown test", "{{ x is frobnicated }}", true, 1, `the test "frobnicated" is not known`},
		{"unknown filter by name", "{{ [1] | map('frob') }}", false, 1, `the filter "frob" is not known`},
		{"unknown test by name", "{{ [1] | select('frob') }}", false, 1, `the test "frob" is not known`},
		{"bad character", "{{ a ? b }}", true, 1, `unexpected character '?'`},
		{"bracket", "{{ (a] }}", true, 1, `']' closes nothing`},
		{"value missing", "{{ 1 + }}", true, 1, `found "}}", expected a value`},
		{"empty output", "{{ }}", true, 1, "expected a value"},
		{"two values", "{{ a b }}", true, 1, `found "b", expected the end of the tag`},
		{"keyword as a name", "{% set if = 1 %}", true, 1, `found "if", expected a name`},
		{"argument order", "{{ f(a=1, 2) }}", true, 1, "comes after one with a name"},
		{"star argument", "{{ f(*a) }}", true, 1, "* in a call is not supported"},
		{"escape", `{{ '\x4' }}`, true, 1, "is no character"},
		{"surrogate", `{{ '\ud800' }}`, true, 1, "is no character"},
		{"break outside", "{% break %}", true, 1, "break stands outside of a loop"},
		{"continue in a macro in a loop", "{% for i in x %}{% macro m() %}{% continue %}{% endmacro %}{% endfor %}",
			true, 1, "outside of a loop"},
		{"recursive", "{% for i in x recursive %}{% endfor %}", true, 1, "recursive loops are not supported"},
		{"large number", "{{ 99999999999999999999 }}", true, 1, "is too large"},
		{"deep brackets", "{{ " + strings.Repeat("(", 20_000) + strings.Repeat(")", 20_000) + " }}", true, 1,
			"more than 200 brackets or blocks"},
		{"too many signs", "{{ " + strings.Repeat("(", 400_000) + strings.Repeat(")", 400_000) + " }}", true, 1,
			"more than 65536 names, numbers, signs and texts"},
		{"deep lists", "{{ " + strings.Repeat("[", 300) + strings.Repeat("]", 300) + " }}", true, 1,
			"more than 200 brackets"},
		{"deep blocks", deep, true, 1, "more than 200 brackets or blocks"},
		{"deep nots", "{{ " + strings.Repeat("not ", 300) + "x }}", true, 1, "more than 200"},
		{"deep signs", "{{ " + strings.Repeat("- ", 300) + "1 }}", true, 1, "more than 200"},
		{"step twice", "{{ x[1:2:3:4] }}", true, 1, "more than three parts"},
		{"no index", "{{ x[] }}", true, 1, "an item has no index"},

		{"exception", "\n{{ raise_exception('no system ' ~ 'role') }}", false, 2,
			"the template refuses the conversation: no system role"},
		{"undefined attribute", "{{ a.b.c }}", false, 1, `a is undefined, and has no "b"`},
		{"undefined attribute of a message", "{{ messages[0].tools[0].name }}", false, 1, "is undefined"},
		{"undefined added", "{{ 'a' + x }}", false, 1, "a string + x, which is undefined, is not possible"},
		{"none added", "{{ 'a' + none }}", false, 1, "a string + none is not possible"},
		{"no function", "{{ x() }}", false, 1, "cannot be called"},
		{"no method", "{{ 'a'.frob() }}", false, 1, "the attribute frob, which is undefined, cannot be called"},
		{"change a list", "{% set l = [] %}{% set _ = l.append(1) %}", false, 1,
			"append changes a list, which a chat template may not do"},
		{"attribute of no namespace", "{% set d = {} %}{% set d.x = 1 %}", false, 1, "only if that is a namespace"},
		{"order", "{{ 1 < 'a' }}", false, 1, "an integer and a string have no order"},
		{"in a number", "{{ 1 in 2 }}", false, 1, "nothing can be in an integer"},
		{"loop over a number", "{% for i in 3 %}{% endfor %}", false, 1, "an integer has no items"},
		{"division", "{{ 1 % 0 }}", false, 1, "division by 0"},
		{"too large", "{{ 2 ** 64 }}", false, 1, "too large for an integer of 64 bits"},
		{"smallest divided", "{{ (-9223372036854775807 - 1) // -1 }}", false, 1, "too large for an integer"},
		{"missing argument", "{{ 'a'.replace('b') }}", false, 1, `replace needs "new"`},
		{"unknown argument", "{{ 'a' | trim(x=1) }}", false, 1, `trim has no parameter "x"`},
		{"argument twice", "{{ 'a'.replace('b', old='c') }}", false, 1, `replace has "old" twice`},
		{"too many arguments", "{{ 'a'.upper(1) }}", false, 1, "upper has 1 arguments, expected at most 0"},
		{"unpacking", "{% for a, b in [[1]] %}{% endfor %}", false, 1, "1 values for 2 names"},
		{"list as a key", "{{ {[]: 1} }}", false, 1, "a list cannot be the key of a dict"},
		{"directive", "{{ strftime_now('%Q') }}", false, 1, `the directive "%Q" is not known`},
		{"directive at the end", "{{ strftime_now('%') }}", false, 1, "ends within a directive"},
		{"json of a function", "{{ range | tojson }}", false, 1, "a function cannot be written as JSON"},
		{"long range", "{% for i in range(10**9) %}{% endfor %}", false, 1, "range has more than 100000 items"},
		{"loops without end", "{% set l = range(99999) %}{% for i in l %}{% set x = -1 in l %}{% endfor %}", false, 1,
			"it takes more than 16777216 steps"},
		{"loops in loops", "{% for i in range(9**5) %}{% for i in range(9**5) %}{% for i in range(9**5) %}{% endfor " +
			"%}{% endfor %}{% endfor %}", false, 1, "it makes more than"},
		{"macro without end", "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", false, 1,
			"more than 1000 deep into itself"},
		{"a long sum", "{{ 1" + strings.Repeat("+1", 5000) + " }}", false, 1, "more than 1000 deep into itself"},
		{"doubling", "{% set ns = namespace(s='aaaaaaaa') %}{% for i in range(99) %}{% set ns.s = ns.s ~ ns.s " +
			"%}{% endfor %}", false, 1, "makes more than 268435456 bytes"},
		{"repeating", "{{ 'a' * 10 ** 15 }}", false, 1, "makes more than"},
		{"doubling a list", "{% set ns = namespace(s=[1]) %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s " +
			"%}{% endfor %}", false, 1, "makes more than"},
		{"replacing", "{% set a = 'a' * 10000 %}{{ a.replace('a', a * 100) }}", false, 1, "makes more than"},
		{"a list in itself", "{% set ns = namespace() %}{% set ns.l = [ns] %}{{ ns.l }}", false, 1,
			"a namespace cannot be written"},
		{"lists in lists", "{% set ns = namespace(l=[]) %}{% for i in range(5000) %}{% set ns.l = [ns.l] %}{% endfor " +
			"%}{{ ns.l }}", false, 1, "deep into itself"},
		{"pairs of pairs", "{% set ns = namespace(l=[]) %}{% for i in range(60) %}{% set ns.l = [ns.l, ns.l] %}{% " +
			"endfor %}{{ ns.l == ns.l | list }}{{ ns.l | tojson }}", false, 1, "it "},
		{"long output", "{% set a = 'a' * 100000 %}{% for i in range(1000) %}{{ a }}{% endfor %}", false, 1,
			"it writes more than 16777216 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tmpl, err := New("test", c.text)
			if c.parse != (err != nil) {
				t.Fatalf("New: %v", err)
			}
			if err == nil {
				var text string
				text, err = tmpl.Render([]Message{system, user}, testOptions)
				if err == nil {
					t.Fatalf("it wrote %.200q", text)
				}
			}
			var e *Error
			if !errors.As(err, &e) || e.Template != "test" || e.Line != c.line || !strings.Contains(e.Msg, c.want) {
				t.Errorf("got %.300v\nexpected line %d: %s", err, c.line, c.want)
			}
		})
	}
}
