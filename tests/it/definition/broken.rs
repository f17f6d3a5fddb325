//! Invalid definitions: messages and positions.

use super::*;

#[test]
fn all_problems_of_a_file_are_reported_at_once() {
    insta::assert_snapshot!(steps_said(
        "  - id: fetch
    run: make
    timeot: 5s
  - id: fetch
    run: echo
    dependsOn: [biuld, fetch]
  - id: build
    specialist: coder
    runIf: allSuceeded
    timeout: 90
  - id: 3x
    run: [ls]
    tool: fs:read
  - {}
"), @"
    error KB0106 7:5 unknown key `timeot` in a step | did you mean `timeout`?
    error KB0203 8:9 duplicate step id `fetch` | rename one of them
    error KB0206 10:17 unknown step `biuld` | did you mean `build`?
    error KB0210 10:24 the step `fetch` depends on itself | remove it
    error KB0212 12:17 the specialist has no task | add `task:`, `taskFile:`, or a `task` in `input`
    error KB0112 13:12 `allSuceeded` is not a value of `runIf` | did you mean `allSucceeded`?
    error KB0112 14:14 `90` is not a duration | write a unit: `90s`, `90m` or `90ms`
    error KB0202 15:9 `3x` cannot be the id of a step | use a letter or `_`, then letters, digits, `_` and `-`
    error KB0205 17:5 the step `3x` has two kinds, `run` and `tool` | keep one, or write two steps
    error KB0108 18:5 a step has no `id` | add `id:`
    error KB0205 18:5 a step has no kind | add one of specialist, agent, run, tool, http, playbook, ask, approve, set, wait, gate
    ");
}

#[test]
fn keys_are_known_once_and_in_one_spelling() {
    insta::assert_snapshot!(steps_said(
        "  - {id: a, run: x, dependsOn: [], depends_on: []}
  - {id: b, run: x, run: y}
  - {id: c, needs: [a], if: \"true\", run: x}
  - {id: d, command: make}
  - {id: e, run: x, retry: {max: 1, maxdelay: 5s}}
"), @"
    error KB0107 5:36 `dependsOn` and `depends_on` are the same key | keep one of the two; `dependsOn` is the usual spelling
    error KB0107 6:21 the key `run` is written twice | keep one of the two
    error KB0106 7:13 unknown key `needs` in a step | did you mean `dependsOn`?
    error KB0106 7:25 unknown key `if` in a step | did you mean `condition`?
    error KB0106 8:13 unknown key `command` in a step | did you mean `run`?
    error KB0106 9:37 unknown key `maxdelay` in `retry` | did you mean `maxDelay`?
    ");
}

#[test]
fn wrong_types_name_what_is_expected() {
    insta::assert_snapshot!(steps_said(
        "  - {id: 7, name: 2024, run: x}
  - {id: b, run: {a: 1}, retrySafe: yes}
  - {id: c, run: x, maxAttempts: 2.5, dependsOn: {a: b}}
  - {id: d, run: x, maxAttempts: 0, retry: 3}
  - {id: e, run: x, timeout: -5s, verify: [x]}
  - {id: f, run: x, env: [A=b], input: 3}
  - {id: g, run: x, condition: 3, output: {schema: 3, extra: 1}}
  - plain
"), @r#"
    error KB0105 5:10 `id` takes a text, found a number | quote it: `"7"`
    error KB0105 5:19 `name` takes a text, found a number | quote it: `"2024"`
    error KB0105 6:18 `run` takes a text (a shell script) or a list (a program and its arguments), found a map | write a script, `run: echo hello`, or a program with its arguments, `run: [echo, hello]`
    error KB0105 6:37 `retrySafe` takes `true` or `false`, found the text `yes` | write `true`
    error KB0105 7:34 `maxAttempts` takes a whole number, found a number with a fraction | write a whole number: `maxAttempts: 3`
    error KB0105 7:50 `dependsOn` takes a list, found a map | write a list, each item on a line that starts with `-`
    error KB0112 8:34 `maxAttempts` cannot be 0 | write a whole number from 1 to 1000
    error KB0105 8:44 `retry` takes a map, found a number | write `retry: {max: 3}`
    error KB0112 9:30 `-5s` is not a duration | write a number with a unit, such as `250ms`, `90s`, `5m` or `1h30m`
    error KB0105 9:43 `verify` takes a map, found a list | write `verify: {checks: [...]}`
    error KB0105 10:26 `env` takes a map, found a list | write `env: {A: "b"}`
    warning KB0219 10:33 a `run` step does not read `input` | pass values in `env:` or as arguments
    error KB0105 11:32 `condition` takes an expression as a text, found a number | write an expression as a text: `condition: "{{STEP.output}} == 'x'"`
    error KB0106 11:55 unknown key `extra` in `output` | known keys: schema
    error KB0105 12:5 a step takes a map, found a text | write its keys, as in `{id: build, specialist: implementer}`
    "#);
}

#[test]
fn unquoted_placeholders_are_recognised() {
    let said = |text: &str| steps_said(text);
    insta::assert_snapshot!(said("  - {id: a, run: x}\n  - id: b\n    run: x\n    condition: {{ topic }}\n    cwd: {{topic}}\n"), @r#"
    error KB0109 8:16 a placeholder without quotes | quote it: `"{{ topic }}"`
    error KB0109 9:10 a placeholder without quotes | quote it: `"{{topic}}"`
    "#);
    insta::assert_snapshot!(said("  - id: b\n    run: x\n    condition: {{ a.output.x }} == 'failed'\n"), @r#"error KB0109 7:16 a placeholder without quotes | quote it: `"{{ a.output.x }} == 'failed'"`"#);
    insta::assert_snapshot!(said("  - id: b\n    run: [echo, {{topic}}]\n"), @r#"error KB0109 6:17 a placeholder without quotes | quote it: `"{{topic}}"`"#);
}

#[test]
fn syntax_errors_say_what_to_do() {
    let said = |text: &str| said(FileRole::Playbook, "p.yml", text).1;
    insta::assert_snapshot!(said("steps:\n\t- id: a\n"), @"error KB0101 2:1 a tab where YAML requires spaces | indent with spaces");
    insta::assert_snapshot!(said("name: a\n\tid: p\n"), @"error KB0101 2:1 a tab where YAML requires spaces | indent with spaces");
    insta::assert_snapshot!(said("steps:\n  - id: a\n  \t run: b\n"), @"error KB0101 3:3 a tab where YAML requires spaces | indent with spaces");
    insta::assert_snapshot!(said("name: a: b\n"), @"error KB0101 1:8 unexpected `:` | quote a text that contains `: `, and check the indentation of this line");
    insta::assert_snapshot!(said("name: @me\n"), @"error KB0101 1:7 a plain text cannot start with `@` | put the text into quotes");
    insta::assert_snapshot!(said("name: \"open\nid: p\n"), @"error KB0101 1:7 a quoted text is not closed | close it; write `''` for a quote inside single quotes");
    insta::assert_snapshot!(said("steps: [a, b\nid: p\n"), @"error KB0101 2:3 unexpected `:` | close the `[` or `{` before it, or quote a text that contains `: `");
    insta::assert_snapshot!(said("steps: [a, b\n"), @"error KB0101 1:8 `[` is never closed | close it with `]`");
    insta::assert_snapshot!(said("name: *all\n"), @"error KB0101 1:7 an alias without an anchor | quote a text that starts with `*`");
    insta::assert_snapshot!(said("name: \"a\\qb\"\n"), @r#"error KB0101 1:7 an unknown escape in double quotes | write `\\` for a backslash, or use single quotes, which have no escapes"#);
    insta::assert_snapshot!(said("name: 'a' b\n"), @"error KB0101 1:11 text after a closing quote | quote the whole value; write `''` for a quote inside single quotes");
    insta::assert_snapshot!(said("id: p\n name: x\n"), @"error KB0101 2:6 a key where none can stand | check the indentation: keys of one map begin at the same column");
    insta::assert_snapshot!(said("steps: - a\n"), @"error KB0101 1:8 unexpected list item | start the list on a line of its own, indented under its key");
    insta::assert_snapshot!(said("id: p\nname\n"), @"error KB0101 2:1 a line without `:` in a map | write `key: value`; put a text of several lines after `|`");
    insta::assert_snapshot!(said("- a\nb: c\n"), @"error KB0101 2:1 this line belongs to neither the enclosing map nor the enclosing list | indent it like the lines before it; quote a text that starts with `[`, `{` or a quote");
    insta::assert_snapshot!(said("name: a\u{1}b\n"), @r#"error KB0101 1:7 the control character `\u{1}` is not allowed here | remove it, or write it as an escape in double quotes"#);
    insta::assert_snapshot!(said("name: !custom x\n"), @"error KB0111 1:15 tags are not supported | quote the value if it starts with a literal `!`");
    insta::assert_snapshot!(said("<<: {a: b}\nid: p\n"), @"
    error KB0111 1:1 merge keys (`<<`) are not supported | write the keys out, or use `defaults:` for keys that all steps share
    error KB0113 2:1 a playbook has no `schema` | add `schema: kb.playbook/1` as the first line; `kb playbook import FILE` translates a file of another tool
    error KB0108 2:1 a playbook has no `steps` | add `steps:`
    ");
    insta::assert_snapshot!(said("id: p\n---\nid: q\n"), @"error KB0111 2:1 a second document in one file | write one definition per file: move the text after `---` to another file");
    insta::assert_snapshot!(said("[a]: b\n"), @"error KB0111 1:1 a key must be a text, not a list or map | quote the value if it starts with a literal `{` or `[`");
}

#[test]
fn steps_have_one_kind() {
    insta::assert_snapshot!(steps_said("  - {id: a}\n  - {id: b, run: x, set: {}}\n  - {id: c, run:}\n"), @"
    error KB0205 5:5 the step `a` has no kind | add one of specialist, agent, run, tool, http, playbook, ask, approve, set, wait, gate
    error KB0205 6:21 the step `b` has two kinds, `run` and `set` | keep one, or write two steps
    error KB0108 7:13 `run` of a step is empty | write its value
    ");
}

#[test]
fn names_have_their_form_and_do_not_clash() {
    insta::assert_snapshot!(steps_said(
        "  - {id: \"a b\", run: x}
  - {id: run, run: x}
  - {id: add-test, run: x}
  - {id: add_test, run: x}
  - {id: topic, run: x}
  - {id: self, run: x, dependsOn: [self]}
"), @"
    error KB0202 5:10 `a b` cannot be the id of a step | use a letter or `_`, then letters, digits, `_` and `-`
    error KB0207 6:10 `run` is a reserved name and cannot name a step | choose another name, such as `run_1` or `my_run`
    error KB0208 8:10 the steps `add-test` and `add_test` have the same name in expressions | rename one of them
    error KB0208 9:10 `topic` is the name of a parameter and of a step | rename one of them
    error KB0207 10:10 `self` is a reserved name and cannot name a step | choose another name, such as `self_1` or `my_self`
    error KB0210 10:36 the step `self` depends on itself | remove it
    ");
    let said = |text: &str| said(FileRole::Playbook, "p.yml", text).1;
    insta::assert_snapshot!(said("schema: kb.playbook/1\nid: Add Feature\nsteps: [{id: a, run: x}]\n"), @"error KB0202 2:5 `Add Feature` cannot be the id of a playbook | use a lower-case letter, then up to 63 lower-case letters, digits, `_` and `-`");
}

#[test]
fn dependencies_name_other_steps_of_the_same_list() {
    let said = |text: &str| said(FileRole::Playbook, "p.yml", text).1;
    insta::assert_snapshot!(said("schema: kb.playbook/1\nid: p\nsteps:\n  - {id: build, run: x}\n  - {id: test, run: x, dependsOn: [biuld, test, build, build, clean]}\nfinally:\n  - {id: clean, run: x, dependsOn: [build]}\n"), @"
    error KB0206 5:36 unknown step `biuld` | did you mean `build`?
    error KB0210 5:43 the step `test` depends on itself | remove it
    warning KB0219 5:56 `build` is named twice | remove one of them
    error KB0403 5:63 `clean` is a step of `finally`, which runs after all others | move it into `steps`, or remove the dependency
    warning KB0219 7:37 `build` has always ended before `finally` starts | remove it; `finally` can read any step without a dependency
    ");
}

#[test]
fn a_playbook_needs_steps() {
    let said = |steps: &str| {
        said(FileRole::Playbook, "p.yml", format!("schema: kb.playbook/1\nid: p\n{steps}")).1
    };
    insta::assert_snapshot!(said(""), @"error KB0108 1:1 a playbook has no `steps` | add `steps:`");
    insta::assert_snapshot!(said("steps: []\n"), @"error KB0209 3:1 a playbook has no steps | write at least one step: `- {id: hello, run: echo hello}`");
    insta::assert_snapshot!(said("steps:\n"), @"error KB0209 3:1 a playbook has no steps | write at least one step: `- {id: hello, run: echo hello}`");
    insta::assert_snapshot!(said("steps: {a: {run: x}}\n"), @"error KB0105 3:8 `steps` takes a list of steps, found a map | start each step with `- id: …`");
}

#[test]
fn parameters_do_not_contradict_themselves() {
    insta::assert_snapshot!(said(FileRole::Playbook, "p.yml",
        "schema: kb.playbook/1
id: p
params:
  - {name: a, type: integer, default: three}
  - {name: b, type: strnig}
  - {name: c, type: secret, default: hunter2}
  - {name: d, enum: [x, y], default: z}
  - {name: e, pattern: \"[a-z]+\", default: \"A1\"}
  - {name: f, type: number, min: 5, max: 1}
  - {name: g, pattern: \"(\"}
  - {name: h, required: true, default: x}
  - {name: a}
  - {name: \"i-j\"}
  - {type: string}
  - name
  - {name: k, enum: [1, low]}
  - {name: l, type: boolean, pattern: x, min: 1}
steps: [{id: s, run: x}]
").1, @r#"
    error KB0213 4:39 the default of `a` is a string, expected a whole number | correct the value or the `type` of the parameter
    error KB0112 5:21 `strnig` is not a value of `type` | did you mean `string`?
    error KB0213 6:38 a secret such as `c` cannot be written into a definition | write where its value is stored: `env:NAME` or `file:PATH`
    error KB0213 7:38 the default of `d` is not in its `enum` | one of "x", "y"
    error KB0213 8:43 the default of `e` does not match its `pattern` | `[a-z]+` must match the whole text
    error KB0213 9:12 `min` of `f` is larger than its `max` | swap them
    error KB0214 10:24 `(` is not a regular expression: unclosed group | escape `( ) [ ] { } . * + ? ^ $ |` and `\` with a backslash to match them literally
    warning KB0219 11:40 `h` has a default, so `required` has no effect | remove `required: true` or the default
    error KB0203 12:12 duplicate parameter `a` | rename one of them
    error KB0202 13:12 `i-j` cannot be the name of a parameter | use a letter or `_`, then letters, digits and `_`
    error KB0108 14:5 a parameter has no `name` | add `name:`
    error KB0105 15:5 a parameter takes a map, found a text | write its keys, as in `{name: topic}`
    error KB0213 16:22 `1` in the `enum` of `k` is a number, expected a text | write it in quotes, or give `k` the `type` of the value
    warning KB0219 17:30 `pattern` has no effect on a parameter of the type `boolean` | remove it; a pattern is for texts
    warning KB0219 17:42 `min` has no effect on a parameter of the type `boolean` | remove it; bounds are for numbers, texts, lists and objects
    "#);
}

#[test]
fn nothing_from_outside_becomes_code() {
    insta::assert_snapshot!(steps_said(
        "  - {id: a, run: \"echo {{topic}}\"}
  - {id: b, run: [\"{{topic}}\", x]}
  - {id: c, run: [bash, -c, \"echo {{topic}}\"]}
  - {id: d, run: [python3, -c, \"print(1)\", \"{{topic}}\"]}
  - {id: e, specialist: \"{{topic}}\", task: x}
  - {id: f, tool: \"{{topic}}\", input: {}}
  - {id: g, http: {url: \"{{topic}}/x\"}}
  - {id: h, http: {url: \"https://{{topic}}/x\"}}
  - {id: i, http: {url: \"https://example.org{{topic}}\"}}
  - {id: j, http: {url: \"https://example.org/{{topic}}\"}}
  - {id: k, tool: shell:exec, input: {command: \"ls {{topic}}\"}}
  - {id: l, tool: shell:exec, input: {argv: [ls, \"{{topic}}\"]}}
  - {id: m, run: x, env: {LD_PRELOAD: \"{{topic}}\", \"9x\": a}}
  - {id: n, gate: [{command: [\"{{topic}}\"]}]}
"), @r#"
    error KB0216 5:24 a shell script cannot contain the placeholder `{{topic}}` | write `"$TOPIC"` here and `env: {TOPIC: "{{topic}}"}` beside `run`, or use the list form `run: [program, "{{topic}}"]`
    error KB0216 6:19 the program cannot be a placeholder | write its name; values may be arguments
    error KB0216 7:29 a value cannot be the code of an interpreter | write the code literally and pass the value as a later argument or in `env:`
    error KB0216 9:25 `specialist` cannot be a placeholder | write the id literally; to choose, use two steps with a `condition` each
    error KB0216 10:19 `tool` cannot be a placeholder | write the name of the tool literally
    error KB0216 11:25 the scheme and host of a URL cannot be placeholders | write `https://host/` literally; placeholders are allowed in the path and in `query`
    error KB0216 12:25 the host of a URL cannot be a placeholder | write the host literally and end it with `/`; placeholders are allowed in the path and in `query`
    error KB0216 13:25 the host of a URL cannot be a placeholder | write the host literally and end it with `/`; placeholders are allowed in the path and in `query`
    error KB0216 15:52 a shell script cannot contain the placeholder `{{topic}}` | write `"$TOPIC"` here and `env: {TOPIC: "{{topic}}"}` beside `run`, or use the list form `run: [program, "{{topic}}"]`
    error KB0202 17:52 `9x` cannot be the name of a variable | use letters, digits and `_`; the first character cannot be a digit
    error KB0216 18:31 the program cannot be a placeholder | write its name; values may be arguments
    "#);
}

#[test]
fn shell_texts_of_several_lines_point_at_the_whole_text() {
    insta::assert_snapshot!(steps_said("  - id: a\n    run: |\n      echo one\n      echo << topic >> {{ params.topic | upper }}\n"), @r#"
    error KB0216 7:7 a shell script cannot contain the placeholder `<< topic >>` | write `"$TOPIC"` here and `env: {TOPIC: "{{topic}}"}` beside `run`, or use the list form `run: [program, "{{topic}}"]`
    error KB0216 7:7 a shell script cannot contain the placeholder `{{ params.topic | upper }}` | write `"$PARAMS_TOPIC"` here and `env: {PARAMS_TOPIC: "{{params.topic | upper}}"}` beside `run`, or use the list form `run: [program, "{{params.topic | upper}}"]`
    "#);
}

#[test]
fn secrets_stay_where_secrets_may_go() {
    insta::assert_snapshot!(said(FileRole::Playbook, "p.yml",
        "schema: kb.playbook/1
id: p
params: [{name: token, type: secret, required: true}]
steps:
  - {id: a, run: [curl, \"{{token}}\"]}
  - {id: b, run: curl, env: {T: \"{{token}}\"}}
  - {id: c, specialist: s, task: \"use {{token}}\"}
  - {id: d, set: {t: \"{{token}}\"}}
  - {id: e, http: {url: \"https://a.b/{{token}}\", headers: {A: \"{{token}}\"}}}
  - {id: f, run: x, condition: \"{{token}} == 'x'\"}
").1, @"
    error KB0220 5:28 the secret `token` is not allowed here | secrets are allowed in `env`, in headers, query and body of `http`, and in `input` of a tool
    error KB0220 7:41 the secret `token` is not allowed here | secrets are allowed in `env`, in headers, query and body of `http`, and in `input` of a tool
    error KB0220 8:25 the secret `token` is not allowed here | secrets are allowed in `env`, in headers, query and body of `http`, and in `input` of a tool
    error KB0220 9:40 the secret `token` is not allowed here | secrets are allowed in `env`, in headers, query and body of `http`, and in `input` of a tool
    error KB0220 10:35 the secret `token` is not allowed here | secrets are allowed in `env`, in headers, query and body of `http`, and in `input` of a tool
    ");
}

#[test]
fn a_variable_that_holds_a_secret_is_one() {
    insta::assert_snapshot!(said(FileRole::Playbook, "p.yml",
        "schema: kb.playbook/1
id: p
params: [{name: token, type: secret, required: true}, {name: plain}]
env: {LAST: \"{{env.NEXT}}\", NEXT: \"a{{env.T}}\", FREE: \"{{plain}}\", LOOP: \"{{env.LOOP}}\"}
defaults: {env: {T: \"{{token}}\"}}
steps:
  - {id: a, run: [curl, \"{{env.T}}\"]}
  - {id: b, specialist: s, task: \"use {{env.LAST}}\"}
  - {id: c, set: {t: \"{{env.OWN}}\"}, env: {OWN: \"{{env.NEXT}}\"}}
  - {id: d, run: x, condition: \"env.T == 'x'\", forEach: \"{{[env.T]}}\"}
  - {id: e, run: x, cwd: \"{{env.FREE}}{{env.LOOP}}\", env: {OTHER: \"{{env.T}}\"}}
  - {id: f, http: {url: https://a.b, headers: {A: \"{{env.T}}\"}}}
  - {id: g, set: {all: \"{{params}}\"}}
outputs: {t: \"{{env.T}}\"}
").1, @"
    error KB0220 7:28 `env.T` contains a secret, which is not allowed here | secrets are allowed in `env`, in headers, query and body of `http`, and in `input` of a tool
    error KB0220 8:41 `env.LAST` contains a secret, which is not allowed here | secrets are allowed in `env`, in headers, query and body of `http`, and in `input` of a tool
    error KB0220 9:25 `env.OWN` contains a secret, which is not allowed here | secrets are allowed in `env`, in headers, query and body of `http`, and in `input` of a tool
    error KB0220 10:33 `env.T` contains a secret, which is not allowed here | secrets are allowed in `env`, in headers, query and body of `http`, and in `input` of a tool
    error KB0220 10:61 `env.T` contains a secret, which is not allowed here | secrets are allowed in `env`, in headers, query and body of `http`, and in `input` of a tool
    error KB0220 13:27 the secret `token` is not allowed here | secrets are allowed in `env`, in headers, query and body of `http`, and in `input` of a tool
    error KB0220 14:17 `env.T` contains a secret, which is not allowed here | secrets are allowed in `env`, in headers, query and body of `http`, and in `input` of a tool
    ");
}

#[test]
fn keys_belong_to_their_kinds() {
    insta::assert_snapshot!(steps_said(
        "  - {id: a, run: x, task: Go, parse: yaml}
  - {id: b, specialist: s, parse: json}
  - {id: c, specialist: s, task: a, taskFile: b.md}
  - {id: d, specialist: s, taskFile: ../secret}
  - {id: e, run: x, verify: {onFailed: rework, checks: []}}
  - {id: f, run: x, input: {a: 1}}
  - {id: g, specialist: s, task: a, input: {task: b}}
"), @"
    error KB0211 5:21 `task` does not belong to a `run` step | it belongs to `specialist` and `agent` steps
    error KB0112 5:38 `yaml` is not a value of `parse` | write one of text, json, lines
    error KB0212 6:25 the specialist has no task | add `task:`, `taskFile:`, or a `task` in `input`
    error KB0211 6:28 `parse` does not belong to a `specialist` step | it belongs to `run` steps
    error KB0212 7:37 a step cannot have both `task` and `taskFile` | keep one of them
    error KB0112 8:38 `../secret` is not a path inside the project | write it relative to the project root
    error KB0211 9:40 `rework` is only available for specialist steps | use `retry`, `warn` or `fail`
    warning KB0219 9:56 `checks` is empty | add a check such as `{file: out.txt}`, or remove the key
    warning KB0219 10:21 a `run` step does not read `input` | pass values in `env:` or as arguments
    error KB0212 11:28 both `task` and `input.task` contain the task | keep one of them
    ");
}

#[test]
fn checks_are_checked() {
    insta::assert_snapshot!(steps_said(
        "  - id: a
    run: x
    verify:
      checks:
        - {file: a, expr: b}
        - {inputs: [a]}
        - {file: {path: \"src/[\", count: {pattern: \"(\", min: 4, max: 2}}}
        - {command: cargo test}
        - {expr: \"1 +\"}
        - {file: a, timeout: 5s}
        - {fiel: a}
      claims: strickt
      maxReworks: -1
"), @r#"
    error KB0205 9:11 a check has both `file` and `expr` | write two checks
    error KB0205 10:11 a check has no kind | add one of schema, file, command, expr, diff, judge
    error KB0214 11:25 `src/[` is not a glob: unclosed character class; missing ']' | globs support `*`, `**`, `?`, `[ab]` and `{a,b}`
    error KB0112 11:41 `min` 4 is larger than `max` 2 | swap them
    error KB0214 11:51 `(` is not a regular expression: unclosed group | escape `( ) [ ] { } . * + ? ^ $ |` and `\` with a backslash to match them literally
    error KB0105 12:21 `command` takes a list (a program and its arguments), found a text | write `[cargo, test]`
    error KB0301 13:21 not a valid expression: unexpected end of input, expected expression | something is missing at the end
    error KB0211 14:21 `timeout` belongs to a `command` check | remove it
    error KB0106 15:12 unknown key `fiel` in a check | did you mean `file`?
    error KB0112 16:15 `strickt` is not a value of `claims` | did you mean `strict`?
    error KB0112 17:19 `maxReworks` cannot be -1 | write a whole number from 0 to 100
    "#);
}

#[test]
fn tools_are_known_with_their_arguments() {
    insta::assert_snapshot!(steps_said(
        "  - {id: a, tool: fs:raed, input: {path: x}}
  - {id: b, tool: fs:write, input: {path: x, contents: y}}
  - {id: c, tool: fs:read}
  - {id: d, tool: web_search, input: {q: x}}
  - {id: e, tool: file_read, input: {path: x}}
  - {id: f, tool: shell:exec, input: {}}
"), @"
    error KB0217 5:19 unknown tool `fs:raed` | did you mean `fs:read`?
    error KB0108 6:19 `fs:write` needs `content` | add `input: {content: …}`
    error KB0106 6:46 `fs:write` does not take `contents` | did you mean `content`?
    error KB0108 7:19 `fs:read` needs `path` | add `input: {path: …}`
    warning KB0901 8:19 `web_search` is not supported yet | the definition loads, but cannot run with this version
    error KB0217 9:19 unknown tool `file_read` | did you mean `fs:read`?
    error KB0108 10:19 `shell:exec` needs `command` or `argv` | write `input: {command: make}` or `input: {argv: [make, all]}`
    ");
}

#[test]
fn problems_of_templates_are_told_with_the_others() {
    insta::assert_snapshot!(steps_said(
        "  - {id: a, run: [echo, \"{{tpic}}\"], timeot: 5s}
  - {id: b, run: x, condition: \"{{a.output ==\"}
  - {id: c, set: {x: \"{{nobody.output}}\"}}
"), @r#"
    error KB0302 5:28 `tpic` is neither a parameter nor a step | did you mean `topic`?
    error KB0106 5:38 unknown key `timeot` in a step | did you mean `timeout`?
    error KB0305 6:33 the placeholder is not closed | close it with `}}`, or write `\{{` for two literal braces
    error KB0302 7:25 `nobody` is neither a parameter nor a step | known names are `topic`, `a`, `b`, `c`, `params`, `steps`, `run`, `env`, `secrets`, `loop`
    "#);
}

#[test]
fn a_problem_of_defaults_is_told_once() {
    let said = said(FileRole::Playbook, "p.yml", "schema: kb.playbook/1\nid: p\ndefaults: {timeout: 5, id: x, env: {A: \"{{nope}}\"}}\nsteps:\n  - {id: a, run: x}\n  - {id: b, run: x}\n  - {id: c, run: x}\n").1;
    insta::assert_snapshot!(said, @r#"
    error KB0112 3:21 `5` is not a duration | write a unit: `5s`, `5m` or `5ms`
    error KB0211 3:24 `id` cannot be shared by all steps | remove it
    error KB0302 3:43 `nope` is neither a parameter nor a step | known names are `a`, `b`, `c`, `params`, `steps`, `run`, `env`, `secrets`, `loop`
    "#);
}

#[test]
fn for_each_is_checked() {
    insta::assert_snapshot!(steps_said(
        "  - {id: a, run: x, forEach: true}
  - {id: b, run: x, forEach: {in: [1], as: topic, key: \"{{item}}\", maxParallel: 0, onItemError: skip}}
  - {id: c, run: x, forEach: {as: \"x y\"}}
  - {id: d, run: [echo, \"{{item}}\"]}
  - {id: e, run: [echo, \"{{item}}\", \"{{index}}\"], forEach: \"{{params.topic}}\"}
"), @r#"
    error KB0105 5:30 `forEach` takes a list, a map, a number or a placeholder of one, found a boolean | write a list, a map, a number or a placeholder of one: `forEach: [a, b]`
    error KB0208 6:44 `topic` is also the name of a parameter or step | choose another name
    error KB0309 6:59 the item of this `forEach` is named `topic` | did you mean `topic`?
    error KB0112 6:81 `maxParallel` cannot be 0 | write a whole number from 1 to 100000
    error KB0112 6:97 `skip` is not a value of `onItemError` | write one of fail, finish, continue
    error KB0108 7:30 `forEach` has no `in` | add `in:`
    error KB0202 7:35 `x y` cannot be the name of an item | use a letter or `_`, then letters, digits and `_`
    error KB0309 8:28 `item` exists only in a step that has a `forEach` | give the step a `forEach`, or name a parameter or a step
    "#);
}

#[test]
fn a_file_full_of_mistakes_is_told_of_the_first_and_the_number_of_the_others_in_time() {
    let steps: String =
        (0..2000).map(|i| format!("  - {{id: step{i}, rum: x, dependsOn: [stpe{i}]}}\n")).collect();
    let start = crate::processor_time::of_thread();
    let said = steps_said(&steps);
    assert_eq!(said.lines().filter(|line| line.starts_with("error KB0206")).count(), 233);
    assert_eq!(said.lines().filter(|line| line.starts_with("error KB0106")).count(), 234);
    assert!(said.contains("5300 errors of this file from here on are not listed"), "{said}");
    let steps: String =
        (0..2000).map(|i| format!("  - {{id: step{i}, run: x, dependsOn: [stpe{i}]}}\n")).collect();
    let said = steps_said(&steps);
    assert_eq!(said.lines().filter(|line| line.starts_with("error KB0206")).count(), 501);
    assert!(said.contains("1500 errors of this file from here on are not listed"), "{said}");
    let took = crate::processor_time::of_thread() - start;
    assert!(took < std::time::Duration::from_secs(20), "{took:?}");
}

#[test]
fn a_step_with_problems_is_not_unknown_besides() {
    insta::assert_snapshot!(steps_said("  - {id: a, rum: x}\n  - {id: b, run: x, dependsOn: [a]}\n"), @"error KB0106 5:13 unknown key `rum` in a step | did you mean `run`?");
}

#[test]
fn a_condition_cannot_read_items() {
    insta::assert_snapshot!(steps_said(
        "  - {id: a, forEach: [{x: 1}], condition: \"{{item.x}} == 1\", run: x}
  - {id: b, forEach: [1], condition: \"{{index}} > 0\", run: x}
  - {id: c, forEach: {in: [1], as: n}, condition: \"n > 0 and topic\", run: x}
  - {id: d, forEach: [1], condition: \"topic\", run: x}
"), @r#"
    error KB0309 5:46 `item` is not available in a condition, which is evaluated once for all items | filter the list itself, such as `forEach: "{{ files | selectattr('changed') | list }}"`
    error KB0309 6:41 `index` is not available in a condition, which is evaluated once for all items | filter the list itself, such as `forEach: "{{ files | selectattr('changed') | list }}"`
    error KB0309 7:52 `n` is not available in a condition, which is evaluated once for all items | filter the list itself, such as `forEach: "{{ files | selectattr('changed') | list }}"`
    "#);
}

#[test]
fn an_item_has_one_name() {
    insta::assert_snapshot!(steps_said(
        "  - {id: a, forEach: {in: [1], as: n}, run: [echo, \"{{item}}\", \"{{n}}\", \"{{index}}\"]}
  - {id: b, forEach: {in: [1], as: n}, set: {x: \"{{m}}\"}}
"), @r#"
    error KB0309 5:55 the item of this `forEach` is named `n` | did you mean `n`?
    error KB0302 6:52 `m` is neither a parameter nor a step | did you mean `a`?
    "#);
}

#[test]
fn no_value_becomes_code_by_standing_behind_its_option() {
    insta::assert_snapshot!(steps_said(
        "  - {id: a, run: [bash, \"-c{{topic}}\"]}
  - {id: b, run: [node, \"--eval={{topic}}\"]}
  - {id: c, run: [perl5, \"-eprint '{{topic}}'\"]}
  - {id: d, run: [/usr/bin/python3.12, \"-cprint('{{topic}}')\"]}
  - {id: e, run: [bash, \"-lc<<topic>>\"]}
  - {id: f, run: [gcc, \"-DNAME={{topic}}\", \"-extra={{topic}}\", \"--color={{topic}}\", \"-o{{topic}}\"]}
  - {id: g, run: x, verify: {checks: [{command: [sh, \"-c{{topic}}\"]}]}}
  - {id: h, tool: shell:exec, input: {argv: [ruby, \"-e{{topic}}\"]}}
"), @r#"
    error KB0216 5:25 a value cannot be the code of an interpreter | write the code literally and pass the value as a later argument or in `env:`
    error KB0216 6:25 a value cannot be the code of an interpreter | write the code literally and pass the value as a later argument or in `env:`
    error KB0216 7:26 a value cannot stand where this program takes code or a program | write the script, the code or the program literally, and the value behind it or in `env:`
    error KB0216 8:40 a value cannot stand where this program takes code or a program | write the script, the code or the program literally, and the value behind it or in `env:`
    error KB0216 9:25 a value cannot be the code of an interpreter | write the code literally and pass the value as a later argument or in `env:`
    error KB0216 11:54 a value cannot be the code of an interpreter | write the code literally and pass the value as a later argument or in `env:`
    error KB0216 12:52 a value cannot be the code of an interpreter | write the code literally and pass the value as a later argument or in `env:`
    "#);
}

#[test]
fn the_address_of_a_tool_is_as_fixed_as_that_of_a_step() {
    insta::assert_snapshot!(steps_said(
        "  - {id: a, tool: http:request, input: {url: \"{{topic}}\"}}
  - {id: b, tool: http:request, input: {url: \"https://{{topic}}/x\"}}
  - {id: c, tool: http:request, input: {url: \"ftp://x/\"}}
  - {id: d, tool: http:request, input: {url: \"https://a.b/{{topic}}\"}}
  - {id: e, tool: http:request, input: {url: {text: \"https://a.b/{{x}}\", raw: true}}}
"), @r#"
    error KB0216 5:46 the scheme and host of a URL cannot be placeholders | write `https://host/` literally; placeholders are allowed in the path and in `query`
    error KB0216 6:46 the host of a URL cannot be a placeholder | write the host literally and end it with `/`; placeholders are allowed in the path and in `query`
    error KB0112 7:46 a URL starts with `http://` or `https://` | write the whole URL
    "#);
}

#[test]
fn keys_that_would_do_nothing_are_told() {
    insta::assert_snapshot!(steps_said(
        "  - {id: a, set: {x: 1}, cwd: src, env: {A: b}, retrySafe: false, evidence: none, workspace: shared}
  - {id: b, gate: [{file: x}], retrySafe: false, evidence: none, output: {schema: {ok: boolean}}}
  - {id: c, http: {url: \"https://a.b/\"}, cwd: src, env: {A: b}}
  - {id: d, tool: fs:read, input: {path: x}, cwd: src, env: {A: b}}
  - {id: e, tool: shell:exec, input: {command: x}, cwd: src, env: {A: b}}
  - {id: f, set: {x: \"{{env.A}}\"}, env: {A: b}}
  - {id: g, http: {url: \"https://a.b/\"}, cwd: src, env: {A: b}, verify: {checks: [{command: [x]}]}}
  - {id: h, gate: [{command: [x]}], cwd: src, env: {A: b}, workspace: exclusive}
"), @r#"
    warning KB0219 5:26 `cwd` has no effect in this `set` step | remove it
    warning KB0219 5:36 `env` has no effect in this `set` step | remove it
    warning KB0219 5:49 `retrySafe` has no effect in this `set` step | remove it
    warning KB0219 5:67 `evidence` has no effect in this `set` step | remove it
    warning KB0219 5:83 `workspace` has no effect in this `set` step | remove it
    warning KB0219 6:32 `retrySafe` has no effect in this `gate` step | remove it
    warning KB0219 6:50 `evidence` has no effect in this `gate` step | remove it
    error KB0211 6:66 `output` does not belong to a `gate` step | remove it; the output of a `gate` step has a fixed form
    warning KB0219 7:42 `cwd` has no effect in this `http` step | remove it
    warning KB0219 7:52 `env` has no effect in this `http` step | remove it
    warning KB0219 8:46 `cwd` has no effect in this `tool` step | remove it
    warning KB0219 8:56 `env` has no effect in this `tool` step | remove it
    "#);
}

#[test]
fn defaults_for_other_kinds_are_no_mistake_of_a_step() {
    let text = "schema: kb.playbook/1\nid: p\ndefaults: {cwd: src, env: {A: b}, retrySafe: false, output: {schema: {x: string}}}\nsteps:\n  - {id: a, gate: [{file: x}]}\n  - {id: b, set: {x: y}}\n";
    let found = playbook(text);
    assert!(found.steps[0].details().output_schema.is_none(), "a gate is not held to it");
    assert!(found.steps[1].details().output_schema.is_some());
}

#[test]
fn names_are_listed_once() {
    insta::assert_snapshot!(steps_said(
        "  - {id: a-b, run: [echo, \"{{nobody_at_all}}\"]}
"), @r#"
    error KB0302 5:30 `nobody_at_all` is neither a parameter nor a step | known names are `topic`, `a-b`, `a_b`, `params`, `steps`, `run`, `env`, `secrets`, `loop`
    "#);
}
