//! Mistakes that people bring from other tools: each help names the fix for that very case.

use crate::scratch::Scratch;

/// The help for a playbook with these lines after its id.
fn help(lines: &str) -> String {
    let text = format!("schema: kb.playbook/1\nid: p\n{lines}");
    let scratch = Scratch::new(&[("playbooks/p.yml", &text)]);
    scratch.kb(&["playbook", "validate"]).code(2).err
}

#[test]
fn the_help_names_the_fix_for_the_case() {
    let step = |keys: &str| format!("steps: [{{id: a, {keys}}}]\n");
    let params = "params: [{name: token, default: x}]\n";
    for (lines, expected) in [
        ("params: [{name: n, type: int}]\nsteps: [{id: a, run: echo x}]\n".to_owned(), "did you mean `integer`?"),
        (step("run: echo x, retry: 1"), "write `retry: {max: 1}`"),
        (step("run: echo x, continue-on-error: true"), "write `onError: continue`"),
        (step("run: echo x, continueOnError: true"), "write `onError: continue`"),
        (step("run: echo x, model: big"), "`model` belongs to the specialist: `llm: {model: NAME}`"),
        (step("run: 5"), "write a script, `run: echo hello`"),
        (step("gate: {file: {path: x}}"), "start each check with `-`"),
        (step("run: echo x, env: {A: null}"), "write `\"\"` for an empty text"),
        (step("run: echo x, env: {A: [1]}"), "write a text: `A: \"text\"`"),
        (step("run: echo x, env: {A: {b: 1}}"), "write a text: `A: \"text\"`"),
        ("steps:\n  - {id: l, forEach: {in: [x], key: '{{item}}'}, set: {a: 1}}\n  - {id: b, set: {v: '{{l.a}}'}}\n".to_owned(), "`l.byKey['…'].a` or `l.output[0].a`"),
        ("steps:\n  - {id: l, forEach: [x], set: {a: 1}}\n  - {id: b, set: {v: '{{l.a}}'}}\n".to_owned(), "a list: `l.output[0].a`"),
        (format!("{}outputs: [a]\n", step("run: echo x")), "name each value, as in `outputs: {result:"),
        (format!("{params}{}", step("set: {v: '{{secrets.token}}'}")), "`token` is a parameter: write `{{token}}`"),
        ("steps:\n  - {id: a, run: echo x}\n  - {id: b, run: echo x, condition: '{{a.status}} == succeeded'}\n".to_owned(), "a text needs quotes: `'succeeded'`"),
        ("steps:\n  - id: a\n    run: echo \"a: b\"\n".to_owned(), "write the script as a block: `run: |`"),
        (step("forEach: [1, 2], run: 'echo {{item}}'"), "`env: {ITEM: \"{{item}}\"}` beside `run`"),
    ] {
        let said = help(&lines);
        assert!(said.contains(expected), "`{expected}` is missing in:\n{said}");
    }
}

#[test]
fn an_unset_variable_and_an_empty_stdout_are_explained() {
    let text = "schema: kb.playbook/1\nid: p\nsteps: [{id: a, run: 'true', parse: json}, {id: b, run: echo $MYVAR}]\n";
    let scratch = Scratch::new(&[("playbooks/p.yml", text)]);
    let said = scratch.kb(&["playbook", "run", "p"]).code(1);
    said.says(&[
        "stdout is empty, and `parse: json` needs one JSON value",
        "MYVAR: unbound variable",
        "`env: {MYVAR: …}` in the step",
        "`env: {pass: [MYVAR]}` in the settings",
        "`${MYVAR:-}`",
    ]);
}

#[test]
fn placeholders_of_other_tools_are_warned_of_with_the_rewrite() {
    let text = "schema: kb.playbook/1
id: p
params: [{name: who, default: you}, {name: path, default: x}]
steps:
  - id: build
    set: {v: 1}
  - id: a
    run: [printf, '%s %s', 'hi ${{ who }}', '$path']
    env: {ONE: '${who}', TWO: '{build.output}', THREE: '$(build.output)', FOUR: '{% if who %}x{% endif %}'}
  - id: fine
    run: [bash, -c, 'for who in a b; do echo $who ${path:-x}; done']
    env: {HOME_OF: '$HOME', RAW: {text: '$who', raw: true}, JSON: '{\"who\": 1}'}
  - {id: script, run: 'who=1; echo $who ${who} {who}'}
  - {id: set, run: 'echo $path', env: {path: '{{path}}'}}
";
    let scratch = Scratch::new(&[("playbooks/p.yml", text)]);
    let said = scratch.kb(&["playbook", "validate"]).code(0).says(&[
        "warning[KB0312]: `${{ who }}` is not a placeholder of `kb`",
        "write `{{ who }}` without the `$`",
        "`$path` is not a placeholder",
        "write `{{path}}`; for literal text, write `{text: …, raw: true}`",
        "write `{{who}}`",
        "`{build.output}` is not",
        "`$(build.output)` is not",
        "write `{{build.output}}`",
        "`{% if who %}` is not",
        "write `{{ a if b else c }}`, or `condition`",
    ]);
    assert_eq!(said.err.matches("KB0312").count(), 6, "{}", said.err);
    scratch.kb(&["playbook", "run", "p"]).code(0);
    let reads = "schema: kb.playbook/1\nid: p\nparams: [{name: featureName, default: x}]\nsteps: [{id: a, run: 'echo ${featureName}'}]\n";
    Scratch::new(&[("playbooks/p.yml", reads)]).kb(&["playbook", "validate"]).code(0).says(&[
        "the script reads `$featureName`, which nothing sets; `featureName` is a parameter",
        "write `\"$FEATURE_NAME\"` here and `env: {FEATURE_NAME: \"{{featureName}}\"}` beside `run`",
    ]);
}

#[test]
fn keys_of_other_tools_have_the_way_to_write_the_same_here() {
    let specialist = |key: &str| {
        let text = format!("schema: kb.specialist/1\nid: s\nrole: You write.\n{key}\n");
        let scratch = Scratch::new(&[(".kb/specialists/s.yml", &text)]);
        scratch.kb(&["specialist", "validate"]).code(2).err
    };
    for (key, expected) in [
        ("prompt: You write.", "the system prompt is `role`"),
        ("model: gpt-5", "`llm: {model: NAME}`"),
        ("task: x", "the task is in the step"),
        ("max_turns: 3", "`limits: {maxSteps: 20"),
        ("outputSchema: {}", "`output: {schema: {summary: string}}`"),
        ("tools: [read]", "did you mean `fs:read`?"),
    ] {
        let said = specialist(key);
        assert!(said.contains(expected), "{key}: `{expected}` is missing in:\n{said}");
    }
    let step = |keys: &str| format!("steps: [{{id: a, {keys}}}]\n");
    let on = |on: &str| format!("on: {on}\nsteps: [{{id: a, run: echo x}}]\n");
    for (lines, expected) in [
        (step("run: echo x, needs: [b]"), "did you mean `dependsOn`?"),
        (step("run: echo x, when: x"), "write `condition: "),
        (step("script: echo x"), "write a script, `run: echo hello`"),
        (step("run: echo x, with_items: [a]"), "the step reads `{{item}}`"),
        (step("playbook: b, params: {x: 1}"), "a `playbook` step passes values in `with:`"),
        (step("run: echo x, approval: true"), "an approval is a step of its own"),
        (step("run: echo x, onFail: rework"), "`verify: {onFailed: rework}`"),
        (step("run: echo x, forEach: {items: [a]}"), "write `in: \"{{list}}\"`"),
        (step("forEach: {in: [a], run: echo x}"), "it stands beside `forEach`"),
        (step("gate: [{exists: a}]"), "write `file: a`"),
        (step("gate: [{file: {path: a, contains: b}}]"), "write `count: {pattern: "),
        (step("gate: \"{{x}}\""), "write a list of checks: `gate: [{expr: "),
        (step("approve: true"), "`approve: \"Deploy to production?\"`"),
        (step("ask: {question: x, choices: [a]}"), "write `options: [a, b]`"),
        (step("run: echo x, until: x"), "write `loop: {until: "),
        (step("run: echo x, isolation: worktree"), "`workspace: worktree`"),
        (step("run: echo x, loop: {while: x}"), "the expression that ends the loop"),
        (step("run: echo x, loop: {until: x, times: 3}"), "write `max: 5`"),
        (step("run: echo x, cache: {paths: x}"), "write `inputs: "),
        (step("wait: {for: 3s}"), "write `wait: 30s`"),
        (step("run: echo x, cache: {inputs: '[a'}"), "globs support `*`"),
        (step("run: echo x, cache: {outputs: ../x}"), "relative to the project root"),
        (step("forEach: {files: '!/etc/*'}, run: echo x"), "relative to the project root"),
        (step("ask: {question: x, options: []}"), "remove the key to accept any"),
        (step("ask: {question: x, options: [a, b, a]}"), "`a` is an option twice"),
        (step("set: {a: 1}, cache: true"), "`specialist`, `agent`, `run`, `tool` and `http` steps"),
        (
            format!("requires: {{commands: [git]}}\n{}", step("run: echo x")),
            "write `tools: [git]`",
        ),
        (
            format!("concurrency: {{cancelInProgress: true}}\n{}", step("run: echo x")),
            "write `onConflict: cancelRunning`",
        ),
        (step("approve: x, timeout: 1h"), "`timeout` does not belong to an `approve` step"),
        (on("[{cron: '0 9 * * *'}]"), "name each kind once, as in `on: {schedule:"),
        (on("{schedule: {interval: 5m}}"), "write `every: 5m`"),
        (on("{schedule: {cron: '0 9 * * *', timezone: Europe/Berlin}}"), "write `zone: Europe/Berlin`"),
        (format!("schedule: '0 9 * * *'\n{}", step("run: echo x")), "write `on: {schedule:"),
        (format!("triggers: [{{cron: x}}]\n{}", step("run: echo x")), "`triggers` are phrases"),
        (
            "steps:\n  - {id: q, ask: 'Which?'}\n  - {id: f, run: [echo, '{{q.output.answer}}']}\n".to_owned(),
            "write `q.output`, which is the whole text",
        ),
        (
            "steps:\n  - {id: l, forEach: [1, 2], set: {v: '{{item}}'}}\n  - {id: f, set: {x: \"{{l.output | map(attribute='w') | list}}\"}}\n"
                .to_owned(),
            "`l.output[…]` has no key `w`",
        ),
    ] {
        let said = help(&lines);
        assert!(said.contains(expected), "`{expected}` is missing in:\n{said}");
    }
    let known = "steps:\n  - {id: l, forEach: [1, 2], set: {v: '{{item}}'}}\n  - {id: f, set: {x: \"{{l.output | map(attribute='v') | list}}\"}}\n";
    let text = format!("schema: kb.playbook/1\nid: p\n{known}");
    Scratch::new(&[("playbooks/p.yml", &text)]).kb(&["playbook", "run", "p"]).code(0);
}

#[test]
fn the_first_mistakes_with_tools_and_models_name_their_fix() {
    let text = "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: a, tool: fs:write, with: {path: x, content: y}}\n";
    let scratch = Scratch::new(&[("playbooks/p.yml", text)]);
    scratch.kb(&["playbook", "validate"]).code(2).says(&["write `input:` in place of `with:`"]);
    // A server on this machine is not used in place of the one that is named.
    let said = scratch.kb_with(&["doctor"], |command| {
        command.env("KB_LLM_ENDPOINT", "http://127.0.0.1:9/v1");
    });
    said.says(&["none found: `KB_LLM_ENDPOINT` is set, `KB_LLM_MODEL` is not"]);
}

#[test]
fn a_gate_on_a_file_that_an_unordered_step_writes_is_warned_of() {
    let warned = |steps: &str| {
        let text = format!("schema: kb.playbook/1\nid: p\nsteps:\n{steps}");
        Scratch::new(&[("playbooks/p.yml", &text)]).kb(&["playbook", "validate"]).code(0)
    };
    let shell = "  - {id: w, run: \"echo hi > out.txt\"}\n";
    let tool = "  - {id: w, tool: fs:write, input: {path: out.txt, content: hi}}\n";
    for writer in [shell, tool] {
        warned(&format!("{writer}  - {{id: check, gate: [{{file: out.txt}}]}}\n")).says(&[
            "KB0419",
            "`check` checks `out.txt`, which `w` writes, and nothing orders them",
            "add `dependsOn: [w]` to `check`",
        ]);
    }
    for fine in [
        "  - {id: check, gate: [{file: out.txt}], dependsOn: [w]}\n",
        "  - {id: check, gate: [{file: other.txt}]}\n",
        "  - {id: check, gate: [{file: {path: out.txt, absent: true}}]}\n",
    ] {
        let said = warned(&format!("{shell}{fine}"));
        assert!(!said.err.contains("KB0419"), "{said:?}");
    }
}

#[test]
fn a_step_that_names_a_file_of_an_unordered_step_is_warned_of() {
    let warned = |step: &str| {
        let text = format!(
            "schema: kb.playbook/1\nid: p\nsteps:\n  - {{id: make, run: \"mkdir -p out; date > out/data.txt\"}}\n  - {{id: use, {step}}}\n"
        );
        Scratch::new(&[("playbooks/p.yml", &text)]).kb(&["playbook", "validate"]).code(0)
    };
    for step in [
        "run: cat out/data.txt",
        "run: [wc, -l, ./out/data.txt]",
        "tool: fs:read, input: {path: out/data.txt}",
    ] {
        warned(step).says(&[
            "KB0419",
            "`use` names `out/data.txt`, which `make` writes, and nothing orders them",
            "add `dependsOn: [make]` to `use`",
        ]);
    }
    for fine in [
        "run: cat out/data.txt, dependsOn: [make]",
        "run: \"cat out/data.txt > $OUT\", cwd: sub",
        "run: \"date >> out/data.txt\"",
        "run: cat data.txt",
    ] {
        let said = warned(fine);
        assert!(!said.err.contains("KB0419"), "{said:?}");
    }
}

/// However many steps write it, a step has one warning for a file.
#[test]
fn many_unordered_writers_of_a_file_are_one_warning() {
    let writers: String =
        (0..6).map(|n| format!("  - {{id: w{n}, run: \"date >> log.txt\"}}\n")).collect();
    let text = format!(
        "schema: kb.playbook/1\nid: p\nsteps:\n{writers}  - {{id: use, run: cat log.txt, dependsOn: [w0]}}\n"
    );
    let said = Scratch::new(&[("playbooks/p.yml", &text)]).kb(&["playbook", "validate"]).code(0);
    let warned = said.err.matches("KB0419").count();
    said.says(&[
        "`use` names `log.txt`, which `w1`, `w2`, `w3`, `w4` and 1 more write, and nothing orders them",
        "add `dependsOn: [w1, w2, w3, w4, …]` to `use`",
    ]);
    assert_eq!(warned, 1);
}

/// In a markdown workflow `{x}` is the placeholder; in the task of a specialist it is one of another tool.
#[test]
fn placeholders_of_other_tools_in_tasks_are_warned_of() {
    let texts = "${topic}, $topic, ${{ topic }}, {% if topic %}x{% endif %}, $(topic)";
    let workflow = format!(
        "---\nparams: [{{name: topic}}]\nsteps:\n  - {{id: research, agent: agents/a.md, prompt: \"{{topic}} {{{{topic}}}} {texts}\", outputs: [findings]}}\n  - {{id: write, agent: agents/a.md, prompt: \"{{research.findings}} of {{topic}}\"}}\n---\n"
    );
    let playbook = format!(
        "schema: kb.playbook/1\nid: q\nparams: [{{name: topic, default: x}}]\nsteps:\n  - {{id: a, specialist: s, task: \"{{topic}} {{{{topic}}}} $HOME ${{HOME}} {texts}\"}}\n"
    );
    let scratch = Scratch::new(&[
        (".kb/specialists/s.yml", "schema: kb.specialist/1\nid: s\nrole: You write.\n"),
        ("agents/a.md", "---\nname: a\ndescription: x\n---\nYou write.\n"),
        ("workflows/w.md", &workflow),
        ("playbooks/q.yml", &playbook),
    ]);
    let said = scratch.kb(&["playbook", "validate"]).code(0).err;
    let warned = |file: &str, text: &str| {
        let all =
            said.split("warning[KB0312]").filter(|part| part.contains(&format!("--> {file}:")));
        all.filter(|part| part.contains(&format!(": `{text}` is not a placeholder"))).count()
    };
    for text in ["${topic}", "$topic", "${{ topic }}", "{% if topic %}", "$(topic)"] {
        assert_eq!(warned("workflows/w.md", text), 1, "{text}: {said}");
        assert_eq!(warned("playbooks/q.yml", text), 1, "{text}: {said}");
    }
    assert_eq!((warned("workflows/w.md", "{topic}"), warned("playbooks/q.yml", "{topic}")), (0, 1));
    assert_eq!(said.matches("KB0312").count(), 11, "{said}");
}

#[test]
fn problems_within_steps_do_not_hide_those_between_steps() {
    let text = "schema: kb.playbook/1
id: p
steps:
  - {id: a, run: [echo, hi], timeut: 3s}
  - {id: b, runn: echo, dependsOn: [zz]}
  - {id: c, specialist: researchr, task: x}
  - {id: e, run: echo x, dependsOn: [g]}
  - {id: g, run: [echo, \"{{e.output}}\"]}
  - {id: h, playbook: nope}
  - {id: i, runn: echo, dependsOn: [b]}
";
    let scratch = Scratch::new(&[("playbooks/p.yml", text)]);
    let said = scratch.kb(&["playbook", "validate"]).code(2).err;
    let places = [
        ("KB0106", "p.yml:4:30"),
        ("KB0106", "p.yml:5:13"),
        ("KB0206", "p.yml:5:37"),
        ("KB0402", "p.yml:6:25"),
        ("KB0401", "p.yml:7:38"),
        ("KB0411", "p.yml:9:23"),
        ("KB0106", "p.yml:10:13"),
    ];
    for (code, place) in places {
        let at = said.find(place).unwrap_or_else(|| panic!("nothing at {place}:\n{said}"));
        assert!(
            said[..at]
                .rfind("error[")
                .is_some_and(|found| said[found..].starts_with(&format!("error[{code}]"))),
            "{code} at {place}:\n{said}"
        );
    }
    assert!(said.contains("7 errors"), "{said}");
}

#[test]
fn settings_with_another_name_are_reported() {
    let playbook = "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: a, run: \"true\"}\n";
    let scratch = Scratch::new(&[
        (".kb/playbooks/p.yml", playbook),
        (".kb/settings.yml", "concurrency: 1\n"),
        (".kb/notes.md", "text\n"),
    ]);
    let said = scratch.kb(&["playbook", "validate"]).code(0);
    let said = said.says(&["KB0114", "`.kb/settings.yml` is not read", "`.kb/kb.config.yml`"]);
    assert!(!said.err.contains("notes.md"), "{said:?}");
}
