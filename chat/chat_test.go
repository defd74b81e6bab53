package chat

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Templates as models' files have them: layouts and special tokens are the models', the wording is ours.
var styles = map[string]string{
	"chatml": "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + " +
		"'<|im_end|>' + '\n'}}" +
		"{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
	"llama2": `{% if messages[0]['role'] == 'system' %}{% set rest = messages[1:] %}{% set first = messages[0]['content'] %}
{%- else %}{% set rest = messages %}{% set first = false %}{% endif %}
{%- for message in rest %}
{%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must take turns: user, assistant') }}{% endif %}
{%- if loop.index0 == 0 and first != false %}
{%- set content = '<<SYS>>\n' + first + '\n<</SYS>>\n\n' + message['content'] %}
{%- else %}{% set content = message['content'] %}{% endif %}
{%- if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}
{%- elif message['role'] == 'assistant' %}{{ ' '  + content.strip() + ' ' + eos_token }}{% endif %}
{%- endfor %}`,
	"llama3": `{% set loop_messages = messages %}{% for message in loop_messages %}
{%- set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>

'+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}
{%- if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>

' }}{% endif %}`,
	"llama3.2": `{{- bos_token }}
{%- if not date_string is defined %}
    {%- if strftime_now is defined %}
        {%- set date_string = strftime_now("%d %b %Y") %}
    {%- else %}
        {%- set date_string = "26 Jul 2024" %}
    {%- endif %}
{%- endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\n\n" }}
{{- "Today: " + date_string + "\n\n" }}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}{{- raise_exception("one call at a time") }}{%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif %}
`,
	"gemma": `{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('no place for a system message') }}{% endif %}
{%- for message in messages %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}{% endif %}
{{- '<start_of_turn>' + role + '
' + message['content'] | trim + '<end_of_turn>
' }}{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model
'}}{% endif %}`,
	"gemma3": `{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}
    {%- if messages[0]['content'] is string -%}
        {%- set first_user_prefix = messages[0]['content'] + '

' -%}
    {%- else -%}
        {%- set first_user_prefix = messages[0]['content'][0]['text'] + '

' -%}
    {%- endif -%}
    {%- set loop_messages = messages[1:] -%}
{%- else -%}
    {%- set first_user_prefix = "" -%}
    {%- set loop_messages = messages -%}
{%- endif -%}
{%- for message in loop_messages -%}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}
        {{ raise_exception("roles must take turns") }}
    {%- endif -%}
    {%- if (message['role'] == 'assistant') -%}
        {%- set role = "model" -%}
    {%- else -%}
        {%- set role = message['role'] -%}
    {%- endif -%}
    {{ '<start_of_turn>' + role + '
' + (first_user_prefix if loop.first else "") }}
    {%- if message['content'] is string -%}
        {{ message['content'] | trim }}
    {%- elif message['content'] is iterable -%}
        {%- for item in message['content'] -%}{{ item['text'] | trim }}{%- endfor -%}
    {%- else -%}
        {{ raise_exception("what is this content?") }}
    {%- endif -%}
    {{ '<end_of_turn>
' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{'<start_of_turn>model
'}}
{%- endif -%}
`,
	"mistral": `{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}
{%- set user_messages = loop_messages | selectattr("role", "equalto", "user") | list %}
{%- set ns = namespace() %}
{%- set ns.index = 0 %}
{%- for message in loop_messages %}
    {%- if not (message.role == "tool" or message.role == "tool_results" or (message.tool_calls is defined and message.tool_calls is not none)) %}
        {%- if (message["role"] == "user") != (ns.index % 2 == 0) %}
            {{- raise_exception("roles must take turns") }}
        {%- endif %}
        {%- set ns.index = ns.index + 1 %}
    {%- endif %}
{%- endfor %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if tools is not none and (message == user_messages[-1]) %}
            {{- "[AVAILABLE_TOOLS] [" }}{{- tools | tojson }}{{- "][/AVAILABLE_TOOLS]" }}
        {%- endif %}
        {%- if loop.last and system_message is defined %}
            {{- "[INST] " + system_message + "\n\n" + message["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " + message["content"] + "[/INST]" }}
        {%- endif %}
    {%- elif message["role"] == "assistant" %}
        {{- " " + message["content"]|trim + eos_token}}
    {%- endif %}
{%- endfor %}
`,
	"phi3": `{% for message in messages %}{% if message['role'] == 'system' %}{{'<|system|>
' + message['content'] + '<|end|>
'}}{% elif message['role'] == 'user' %}{{'<|user|>
' + message['content'] + '<|end|>
'}}{% elif message['role'] == 'assistant' %}{{'<|assistant|>
' + message['content'] + '<|end|>
'}}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>
' }}{% else %}{{ eos_token }}{% endif %}`,
	"qwen2.5": `{%- if tools %}
    {{- '<|im_start|>system\n' }}
    {%- for tool in tools %}
        {{- "\n" }}
        {{- tool | tojson }}
    {%- endfor %}
{%- else %}
    {%- if messages[0]['role'] == 'system' %}
        {{- '<|im_start|>system\n' + messages[0]['content'] + '<|im_end|>\n' }}
    {%- else %}
        {{- '<|im_start|>system\nA default prompt of ours.<|im_end|>\n' }}
    {%- endif %}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) or (message.role == "assistant" and not message.tool_calls) %}
        {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' + '\n' }}
    {%- elif message.role == "tool" %}
        {%- if (loop.index0 == 0) or (messages[loop.index0 - 1].role != "tool") %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\n<tool_response>\n' }}{{- message.content }}{{- '\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}
            {{- '<|im_end|>\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
{%- endif %}
`,
	"qwen3": `{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user" and message.content is string and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step_tool = false %}
        {%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.role == "assistant" %}
        {%- set content = message.content %}
        {%- set reasoning_content = '' %}
        {%- if message.reasoning_content is string %}
            {%- set reasoning_content = message.reasoning_content %}
        {%- elif '</think>' in content %}
            {%- set reasoning_content = content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\n') %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query_index and (loop.last or (not loop.last and reasoning_content)) %}
            {{- '<|im_start|>' + message.role + '\n<think>\n' + reasoning_content.strip('\n') + '\n</think>\n\n' + content.lstrip('\n') }}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\n' + content }}
        {%- endif %}
        {{- '<|im_end|>\n' }}
    {%- else %}
        {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' + '\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\n\n</think>\n\n' }}
    {%- endif %}
{%- endif %}`,
	"zephyr": `{% for message in messages %}
{% if message['role'] == 'user' %}
{{ '<|user|>
' + message['content'] + eos_token }}
{% elif message['role'] == 'system' %}
{{ '<|system|>
' + message['content'] + eos_token }}
{% elif message['role'] == 'assistant' %}
{{ '<|assistant|>
'  + message['content'] + eos_token }}
{% endif %}
{% if loop.last and add_generation_prompt %}
{{ '<|assistant|>' }}
{% endif %}
{% endfor %}`,
}

var (
	user   = Message{"user", "Hi, who? "}
	answer = Message{"assistant", "Me.\n"}
	again  = Message{"user", "Why?"}
	system = Message{"system", "Be brief."}
)

var testOptions = Options{AddGenerationPrompt: true, BOS: "<s>", EOS: "</s>",
	Now: time.Date(2031, 3, 7, 9, 5, 2, 0, time.UTC)}

func TestStyles(t *testing.T) {
	plain, withSystem := []Message{user, answer, again}, []Message{system, user, answer, again}
	for _, c := range []struct {
		name, style string
		messages    []Message
		want        string
	}{
		{"chatml", "chatml", withSystem,
			"<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi, who? " +
				"<|im_end|>\n<|im_start|>assistant\nMe.\n<|im_end|>\n<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n"},
		{"llama2", "llama2", plain, "<s>[INST] Hi, who? [/INST] Me. </s><s>[INST] Why? [/INST]"},
		{"llama2 system", "llama2", withSystem,
			"<s>[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\nHi, who? [/INST] Me. </s><s>[INST] Why? [/INST]"},
		{"llama3", "llama3", withSystem,
			"<s><|start_header_id|>system<|end_header_id|>\n\nBe " +
				"brief.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nHi, " +
				"who?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nMe.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nWhy?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
		{"llama3.2", "llama3.2", []Message{user},
			"<s><|start_header_id|>system<|end_header_id|>\n\nToday: 07 Mar " +
				"2031\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nHi, " +
				"who?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
		{"llama3.2 system", "llama3.2", []Message{system, user},
			"<s><|start_header_id|>system<|end_header_id|>\n\nToday: 07 Mar 2031\n\nBe " +
				"brief.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nHi, " +
				"who?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"},
		{"gemma", "gemma", plain,
			"<s><start_of_turn>user\nHi, " +
				"who?<end_of_turn>\n<start_of_turn>model\nMe.<end_of_turn>\n<start_of_turn>user\nWhy?<end_of_turn>\n<start_of_turn>model\n"},
		{"gemma3 system", "gemma3", withSystem,
			"<s><start_of_turn>user\nBe brief.\n\nHi, " +
				"who?<end_of_turn>\n<start_of_turn>model\nMe.<end_of_turn>\n<start_of_turn>user\nWhy?<end_of_turn>\n<start_of_turn>model\n"},
		{"mistral", "mistral", plain, "<s>[INST] Hi, who? [/INST] Me.</s>[INST] Why?[/INST]"},
		{"mistral system", "mistral", withSystem, "<s>[INST] Hi, who? [/INST] Me.</s>[INST] Be brief.\n\nWhy?[/INST]"},
		{"phi3", "phi3", withSystem,
			"<|system|>\nBe brief.<|end|>\n<|user|>\nHi, who? " +
				"<|end|>\n<|assistant|>\nMe.\n<|end|>\n<|user|>\nWhy?<|end|>\n<|assistant|>\n"},
		{"qwen2.5", "qwen2.5", plain,
			"<|im_start|>system\nA default prompt of ours.<|im_end|>\n<|im_start|>user\nHi, who? " +
				"<|im_end|>\n<|im_start|>assistant\nMe.\n<|im_end|>\n<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n"},
		{"qwen2.5 system", "qwen2.5", []Message{system, user},
			"<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi, who? <|im_end|>\n<|im_start|>assistant\n"},
		{"qwen2.5 tools", "qwen2.5", []Message{system, user, {"tool", "1"}, {"tool", "2"}},
			"<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi, who? " +
				"<|im_end|>\n<|im_start|>user\n<tool_response>\n1\n</tool_response>\n<tool_response>\n2\n</tool_response><|im_end|>\n<|im_start|>assistant\n"},
		{"qwen3", "qwen3", []Message{user, {"assistant", "<think>\nHm.\n</think>\n\nMe."}, again},
			"<|im_start|>user\nHi, who? " +
				"<|im_end|>\n<|im_start|>assistant\nMe.<|im_end|>\n<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n"},
		{"zephyr", "zephyr", withSystem,
			"<|system|>\nBe brief.</s>\n<|user|>\nHi, who? " +
				"</s>\n<|assistant|>\nMe.\n</s>\n<|user|>\nWhy?</s>\n<|assistant|>\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tmpl, err := New(c.style, styles[c.style])
			if err != nil {
				t.Fatal(err)
			}
			got, err := tmpl.Render(c.messages, testOptions)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The built-in templates, with a system message and without.
func TestBuiltIn(t *testing.T) {
	want := map[string][2]string{
		"chatml": {"<|im_start|>user\nHi, who? " +
			"<|im_end|>\n<|im_start|>assistant\nMe.\n<|im_end|>\n<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n",
			"<|im_start|>system\nBe brief.<|im_end|>\n"},
		"gemma": {"<s><start_of_turn>user\nHi, " +
			"who?<end_of_turn>\n<start_of_turn>model\nMe.<end_of_turn>\n<start_of_turn>user\nWhy?<end_of_turn>\n<start_of_turn>model\n",
			"<s><start_of_turn>user\nBe brief.\n\nHi"},
		"llama2": {"<s>[INST] Hi, who? [/INST] Me. </s><s>[INST] Why? [/INST]",
			"<s>[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\nHi"},
		"llama3": {"<s><|start_header_id|>user<|end_header_id|>\n\nHi, " +
			"who?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nMe.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nWhy?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
			"<s><|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|><|start"},
		"mistral": {"<s>[INST] Hi, who? [/INST] Me.</s>[INST] Why? [/INST]", "<s>[INST] Be brief.\n\nHi"},
		"phi3":    {"<s><|user|>\nHi, who? <|end|>\n<|assistant|>\nMe.\n<|end|>\n<|user|>\nWhy?<|end|>\n<|assistant|>\n", "<s><|system|>\nBe brief.<|end|>\n<|user|>"},
		"zephyr": {"<|user|>\nHi, who? </s>\n<|assistant|>\nMe.\n</s>\n<|user|>\nWhy?</s>\n<|assistant|>\n",
			"<|system|>\nBe brief.</s>\n<|user|>"},
	}
	names := BuiltInNames()
	if len(names) != len(want) {
		t.Errorf("there are %q, tested are %d", names, len(want))
	}
	for _, name := range names {
		tmpl, ok := BuiltIn(name)
		if !ok {
			t.Errorf("%s: it does not parse", name)
			continue
		}
		got, err := tmpl.Render([]Message{user, answer, again}, testOptions)
		if err != nil || got != want[name][0] {
			t.Errorf("%s: %v\n%s", name, err, cmp.Diff(want[name][0], got))
		}
		got, err = tmpl.Render([]Message{system, user}, testOptions)
		if err != nil || !strings.HasPrefix(got, want[name][1]) {
			t.Errorf("%s with a system message: %v, %q", name, err, got)
		}
	}
	if _, ok := BuiltIn("../doc"); ok {
		t.Error("a file that is no template was read")
	}
}

// A template may be used by several goroutines.
func TestConcurrent(t *testing.T) {
	tmpl, err := New("qwen3", styles["qwen3"])
	if err != nil {
		t.Fatal(err)
	}
	want, err := tmpl.Render([]Message{user, answer, again}, testOptions)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				if got, err := tmpl.Render([]Message{user, answer, again}, testOptions); err != nil || got != want {
					t.Errorf("%v, %q", err, got)
				}
			}
		})
	}
	wg.Wait()
}
