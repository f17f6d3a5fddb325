//! Values of models, servers and confined commands in scripts of the author: what reads one runs in the sandbox, and so
//! do the commands after it.

use crate::scratch::{Said, Scratch, has_kernel_sandbox};
use serde_json::json;

/// A specialist that cannot write files.
const THINKER: &str = "schema: kb.specialist/1\nid: thinker\nrole: You count.\ntools: [fs:read]\n";
const CHILD: &str = "schema: kb.playbook/1\nid: child\nparams: [{name: v, default: '0'}]\nsteps:\n  - {id: say, run: [echo, '{{v}}']}\n  - {id: test, run: '(( V > 3 )) || true', env: {V: \"{{v}}\"}}\noutputs: {v: '{{v}}', said: '{{say.output}}'}\n";
const THINKS: &str = "schema: kb.playbook/1\nid: thinks\nsteps:\n  - {id: think, agent: thinker, task: Count., verify: {claims: none}, output: {schema: {type: object, properties: {n: {type: string}}}}}\noutputs: {n: '{{think.output.n}}'}\n";

/// A project whose specialist answers with a value that `bash` executes in an arithmetic expression.
fn project(steps: &str) -> Scratch {
    let playbook = format!(
        "schema: kb.playbook/1\nid: p\nsteps:
  - {{id: think, agent: thinker, task: Count., verify: {{claims: none}}, output: {{schema: {{type: object, properties: {{n: {{type: string}}}}}}}}}}\n{steps}"
    );
    let scratch = Scratch::new(&[
        (".kb/playbooks/p.yml", &playbook),
        (".kb/playbooks/child.yml", CHILD),
        (".kb/playbooks/thinks.yml", THINKS),
        (".kb/specialists/thinker.yml", THINKER),
    ]);
    let value = format!("PATH[$(echo pwned >> {})]", plant(&scratch).display());
    let turns = json!([{"output": {"summary": "done", "n": value}}]);
    let script = json!({"schema": "kb.script/1", "steps": {"think": turns, "a": turns, "call/think": turns}});
    scratch.write("script.yml", &script.to_string());
    // An argument can be code: a target of make, a package, a command of ssh.
    scratch.write("run.sh", "exec bash -c \"(( $1 > 3 )) || true\"\n");
    scratch
}

/// The file outside of the project that the value writes.
fn plant(scratch: &Scratch) -> std::path::PathBuf {
    let home = scratch.root().parent().unwrap().join("home");
    std::fs::create_dir_all(&home).unwrap();
    home.join("pwned")
}

fn run(scratch: &Scratch, args: &[&str]) -> (Said, bool) {
    let planted = plant(scratch);
    let said = scratch.kb_with(args, |kb| {
        kb.env("HOME", planted.parent().unwrap());
    });
    (said, planted.exists())
}

const RUN: [&str; 5] = ["playbook", "run", "p", "--script", "script.yml"];

/// A reader of `VALUE`, which the steps before it hand on.
const READS: &str = "run: '(( V > 3 )) || true', env: {V: \"VALUE\"}";

#[test]
fn a_script_that_reads_the_value_of_a_model_runs_in_the_sandbox() {
    if !has_kernel_sandbox() {
        return;
    }
    let n = "{{think.output.n}}";
    for (before, value, reader) in [
        ("", n, READS),
        ("", n, "run: [bash, -c, '(( V > 3 )) || true'], env: {V: \"VALUE\"}"),
        ("", n, "tool: shell:exec, input: {command: '(( V > 3 )) || true'}, env: {V: \"VALUE\"}"),
        ("", n, "tool: shell:exec, input: {command: '(( V > 3 )) || true', env: {V: \"VALUE\"}}"),
        ("", n, "gate: [{command: [bash, -c, '(( V > 3 )) || true']}], env: {V: \"VALUE\"}"),
        ("", n, "run: [bash, -c, '(( $1 > 3 )) || true', name, \"VALUE\"]"),
        ("", n, "run: [sh, run.sh, \"VALUE\"]"),
        ("", n, "tool: shell:exec, input: {argv: [sh, run.sh, \"VALUE\"]}"),
        ("", n, "gate: [{command: [sh, run.sh, \"VALUE\"]}]"),
        (
            "",
            "{{item}}",
            "forEach: [\"{{think.output.n}}\"], run: '(( V > 3 )) || true', env: {V: \"VALUE\"}",
        ),
        ("  - {id: a, set: {n: \"{{think.output.n}}\"}}\n", "{{a.output.n}}", READS),
        ("  - {id: a, run: [echo, \"{{think.output.n}}\"]}\n", "{{a.output}}", READS),
        (
            "  - {id: a, forEach: [\"{{think.output.n}}\"], run: [echo, \"{{item}}\"]}\n",
            "{{a.output[0]}}",
            READS,
        ),
        ("  - {id: a, playbook: child, with: {v: \"{{think.output.n}}\"}}\n", "0", READS),
        // A variable hands on the value that it has.
        (
            "  - {id: a, env: {A: \"{{think.output.n}}\", W: \"{{env.A}}\"}, playbook: child, with: {v: \"{{env.W}}\"}}\n",
            "0",
            READS,
        ),
        (
            "  - {id: a, env: {W: \"{{think.output.n}}\"}, set: {n: \"{{env.W}}\"}}\n",
            "{{a.output.n}}",
            READS,
        ),
        (
            "  - {id: a, env: {W: \"{{think.output.n}}\"}, forEach: [\"{{env.W}}\"], playbook: child, with: {v: \"{{item}}\"}}\n",
            "0",
            READS,
        ),
        (
            "  - {id: a, env: {W: \"{{think.output.n}}\"}, tool: fs:write, input: {path: a.sh, content: '(( V > 3 )); V={{env.W}}'}}\n",
            "x",
            "run: 'touch $HOME/pwned'",
        ),
        (
            "  - {id: a, run: 'echo', env: {V: \"{{think.output.n}}\"}}\n",
            "x",
            "run: 'touch $HOME/pwned'",
        ),
        (
            "  - {id: a, sandbox: always, run: 'echo', env: {V: \"{{think.output.n}}\"}}\n",
            "x",
            "run: 'touch $HOME/pwned'",
        ),
        (
            "  - {id: a, agent: thinker, task: Look., env: {V: \"{{think.output.n}}\"}, verify: {checks: [{command: [bash, -c, 'echo']}]}}\n",
            "x",
            "run: 'touch $HOME/pwned'",
        ),
        (
            "  - {id: a, sandbox: {}, run: 'echo', env: {V: \"{{think.output.n}}\"}}\n",
            "x",
            "run: 'touch $HOME/pwned'",
        ),
        // A tool of the author writes the value, which a later command executes.
        (
            "  - {id: a, tool: fs:write, input: {path: a.sh, content: '(( V > 3 )); V={{think.output.n}}'}}\n",
            "x",
            "run: 'touch $HOME/pwned'",
        ),
    ] {
        let steps = |sandbox: &str| {
            let reader = reader.replace("VALUE", value);
            let after = if before.is_empty() { "think" } else { "a" };
            format!("{before}  - {{id: later, dependsOn: {after}, {sandbox}{reader}}}\n")
        };
        let (said, escaped) = run(&project(&steps("")), &RUN);
        assert!(!escaped, "{before}{value} {reader}: {said:?}");
        if value != "0" {
            let (said, trusted) = run(&project(&steps("sandbox: never, ")), &RUN);
            assert!(trusted, "{before}{value} {reader}: {said:?}");
        }
    }
}

/// Texts of errors and verdicts have the values of what failed.
#[test]
fn texts_of_errors_and_verdicts_are_foreign() {
    if !has_kernel_sandbox() {
        return;
    }
    // Makes an expression of the part of a text that bash executes.
    let reads = "'case $V in *PATH*) V=\"PATH[${V#*PATH[}\"; V=\"${V%%)]*})]\"; (( V > 3 )) || true;; esac'";
    let n = "{{think.output.n}}";
    let waits = format!("wait: {{until: \"{n}\"}}");
    let list = format!("[{{command: [ls, \"{n}\"]}}]");
    for (before, value, more) in [
        (waits.clone(), "{{a.error}}", String::new()),
        (format!("run: [echo], verify: {{checks: {list}}}"), "{{a.error}}", String::new()),
        (format!("run: [echo], verify: {{checks: {list}}}"), "{{a.verdictDetails}}", String::new()),
        (
            "run: [echo]".to_owned(),
            "{{loop.previous.reason | default('1')}}",
            format!("loop: {{max: 2, until: {list}}}, "),
        ),
    ] {
        let steps = |sandbox: &str| {
            format!(
                "  - {{id: a, dependsOn: think, onError: continue, {before}}}\n  - {{id: later, dependsOn: [a, think], runIf: allDone, onError: continue, {sandbox}{more}run: {reads}, env: {{V: \"{value}\"}}}}\n"
            )
        };
        let (said, escaped) = run(&project(&steps("")), &RUN);
        assert!(!escaped, "{before} {value}: {said:?}");
        let (said, trusted) = run(&project(&steps("sandbox: never, ")), &RUN);
        assert!(trusted, "{before} {value}: {said:?}");
    }
    // Where only parameters are foreign.
    for (sandbox, is_free) in [("", false), ("sandbox: never, ", true)] {
        let child = format!(
            "schema: kb.playbook/1\nid: waits\nparams: [{{name: v}}]\nsteps:\n  - {{id: a, wait: {{until: '{{{{v}}}}'}}}}\nfinally:\n  - {{id: later, {sandbox}run: {reads}, env: {{V: '{{{{run.error}}}}'}}}}\n"
        );
        let scratch =
            project(&format!("  - {{id: call, playbook: waits, with: {{v: \"{n}\"}}}}\n"));
        scratch.write(".kb/playbooks/waits.yml", &child);
        let (said, executed) = run(&scratch, &RUN);
        assert_eq!(executed, is_free, "{sandbox}: {said:?}");
    }
}

/// The variables that name the step of a process have the key of an item in a form that no shell executes, also in a
/// command that nothing confines.
#[test]
fn the_key_of_an_item_is_no_code_of_a_script() {
    let script = "K=${KB_STEP#*[}; I=${KB_IDEMPOTENCY_KEY#*/}; for V in \"${K%]}\" \"$KB_STEP\" \"${I%/*}\"; do ( [[ \"$V\" -eq 3 ]] ) || true; done";
    let n = "{{think.output.n}}";
    for items in [
        format!("matrix: {{axes: {{a: ['{n}']}}}}"),
        format!("forEach: {{in: ['{n}'], key: '{{{{item}}}}'}}"),
        "forEach: {in: {'PATH[$(touch $HOME/pwned)]': 1}}".to_owned(),
    ] {
        let later = format!("id: PATH, sandbox: never, dependsOn: think, run: '{script}'");
        let (said, escaped) = run(&project(&format!("  - {{{later}, {items}}}\n")), &RUN);
        assert!(said.code == 0 && !escaped, "{items}: {said:?}");
    }
}

/// What a model of an earlier run left in the memory of the project.
#[test]
fn what_a_search_of_the_memory_finds_is_foreign() {
    if !has_kernel_sandbox() {
        return;
    }
    for (sandbox, is_free) in [("", false), ("sandbox: never, ", true)] {
        let steps = format!(
            "  - {{id: look, tool: 'memory:search', input: {{query: port}}}}\n  - {{id: later, {sandbox}run: '(( V > 3 )) || true', env: {{V: '{{{{look.output.entries[0].text}}}}'}}}}\n"
        );
        let scratch = project("");
        let playbook = format!("schema: kb.playbook/1\nid: p\nsteps:\n{steps}");
        scratch.write(".kb/playbooks/p.yml", &playbook);
        scratch.write(".kb/kb.config.yml", "memory: {enabled: true}\n");
        let text = format!("PATH[$(echo pwned >> {})] port", plant(&scratch).display());
        scratch.write(
            ".kb/memory/port.md",
            &format!("---\nschema: kb.memory/1\nkind: fact\n---\n{text}\n"),
        );
        let (said, executed) = run(&scratch, &["playbook", "run", "p"]);
        assert!(executed == is_free && said.code == 0, "{sandbox}: {said:?}");
    }
}

/// The value of a model of a child run, and that of a command that ran in the sandbox itself.
#[test]
fn values_of_child_runs_and_of_confined_commands_count() {
    if !has_kernel_sandbox() {
        return;
    }
    let steps = "  - {id: call, playbook: thinks}\n  - {id: later, run: '(( V > 3 )) || false', env: {V: '{{call.output.n}}'}}\n";
    let scratch = project("");
    scratch.write(".kb/playbooks/p.yml", &format!("schema: kb.playbook/1\nid: p\nsteps:\n{steps}"));
    let (said, escaped) = run(&scratch, &RUN);
    assert!(!escaped, "{said:?}");
    said.says(&["reads the output of step `call`"]);
    for (sandbox, free) in [("always", false), ("auto", true)] {
        let scratch = project("");
        let say = format!("printf 'PATH[$(echo pwned >> {})]'", plant(&scratch).display());
        scratch.write("say.sh", &say);
        scratch.write(
            ".kb/playbooks/p.yml",
            &format!("schema: kb.playbook/1\nid: p\nsteps:\n  - {{id: say, sandbox: {sandbox}, run: 'sh say.sh'}}\n  - {{id: later, run: '(( V > 3 )) || true', env: {{V: '{{{{say.output}}}}'}}}}\n"),
        );
        let (said, executed) = run(&scratch, &RUN);
        assert_eq!(executed, free, "{sandbox}: {said:?}");
    }
}

/// Statuses are names that `kb` chooses.
#[test]
fn statuses_and_values_of_a_person_confine_nothing() {
    if !has_kernel_sandbox() {
        return;
    }
    let step = "run: 'touch $HOME/pwned; echo $V', env: {V: \"{{think.status}}\"}";
    let steps = format!("  - {{id: later, dependsOn: think, {step}}}\n");
    let (said, wrote) = run(&project(&steps), &RUN);
    assert!(wrote && said.code == 0, "{said:?}");
    let scratch = Scratch::new(&[(
        ".kb/playbooks/p.yml",
        "schema: kb.playbook/1\nid: p\nparams: [{name: v}]\nsteps: [{id: a, run: 'touch $HOME/pwned; echo $V', env: {V: '{{v}}'}}]\n",
    )]);
    let (said, wrote) = run(&scratch, &["playbook", "run", "p", "--param", "v=x"]);
    assert!(wrote && said.code == 0, "{said:?}");
}

/// The journal knows where a value came from: in another process, after a retry, in a run that keeps the result, and
/// after an approval, which is about files.
#[test]
fn a_value_stays_foreign_after_a_resume_a_retry_and_an_approval() {
    if !has_kernel_sandbox() {
        return;
    }
    let steps = "  - {id: ok, dependsOn: think, approve: 'Go on?'}
  - {id: later, dependsOn: ok, run: '(( V > 3 )) || false', env: {V: \"{{think.output.n}}\"}}\n";
    let scratch = project(steps);
    assert_eq!(run(&scratch, &RUN).0.code, 3);
    for args in [
        &["run", "approve", "@last", "ok"][..],
        &["run", "retry", "@last", "--from", "later"],
        &["run", "retry", "@last", "--with-current", "--script", "script.yml"],
    ] {
        let (said, escaped) = run(&scratch, args);
        assert!(!escaped && said.code == 1, "{args:?}: {said:?}");
        said.says(&["reads the output of step `think`"]);
    }
}

/// No list of names decides: a command that has a value of a model in any variable is in the sandbox.
#[test]
fn a_variable_of_any_name_with_a_value_of_a_model_confines_its_command() {
    if !has_kernel_sandbox() {
        return;
    }
    for name in [
        "PERLLIB",
        "PYTHONPYCACHEPREFIX",
        "BASH_LOADABLES_PATH",
        "NODE_REPL_EXTERNAL_MODULE",
        "CLASSPATH",
        "PIP_INDEX_URL",
        "ANYTHING",
    ] {
        for step in ["run: [sh, -c, 'echo pwned > $HOME/pwned']", "run: 'echo pwned > $HOME/pwned'"]
        {
            let steps = |sandbox: &str| {
                let env = format!("env: {{{name}: '{{{{think.output.n}}}}'}}");
                format!("  - {{id: later, dependsOn: think, {sandbox}{step}, {env}}}\n")
            };
            let (said, escaped) = run(&project(&steps("")), &RUN);
            assert!(!escaped && said.code == 1, "{name} {step}: {said:?}");
            let (said, trusted) = run(&project(&steps("sandbox: never, ")), &RUN);
            assert!(trusted, "{name} {step}: {said:?}");
        }
    }
}

/// Whatever the name of a variable, a program loads code because of it in the sandbox only.
#[test]
fn variables_that_load_code_load_it_in_the_sandbox() {
    if !has_kernel_sandbox() {
        return;
    }
    let hook = "export -n BASH_ENV\necho pwned > $HOME/pwned\n";
    for (name, step) in [
        ("BASH_ENV", "run: 'true'"),
        ("BASH_ENV", "run: [bash, -c, 'true']"),
        ("BASH_ENV", "tool: shell:exec, input: {argv: [bash, -c, 'true'], env: {VARIABLE}}"),
        ("BASH_ENV", "gate: [{command: [bash, -c, 'true']}]"),
        ("PYTHONPATH", "run: [python3, -c, 'import planted']"),
        ("PERL5LIB", "run: [perl, -e, 'require planted']"),
        ("PERLLIB", "run: [perl, -e, 'require planted']"),
    ] {
        let steps = |sandbox: &str| {
            let variable = format!("{name}: '{{{{think.output.n}}}}'");
            let step = if step.contains("VARIABLE") {
                step.replace("VARIABLE", &variable)
            } else {
                format!("{step}, env: {{{variable}}}")
            };
            format!("  - {{id: later, dependsOn: think, {sandbox}{step}}}\n")
        };
        let prepared = |sandbox: &str| {
            let scratch = project(&steps(sandbox));
            scratch.write("hook.sh", hook);
            scratch.write("lib/planted.py", "import os\nos.system('echo pwned > $HOME/pwned')\n");
            scratch.write("lib/planted.pm", "system('echo pwned > $HOME/pwned'); 1;\n");
            let value = if name == "BASH_ENV" { "hook.sh" } else { "lib" };
            let value = scratch.root().join(value);
            let turns = json!([{"output": {"summary": "done", "n": value}}]);
            let script = json!({"schema": "kb.script/1", "steps": {"think": turns}});
            scratch.write("script.yml", &script.to_string());
            scratch
        };
        let (said, escaped) = run(&prepared(""), &RUN);
        assert!(!escaped, "{name} {step}: {said:?}");
        let (said, trusted) = run(&prepared("sandbox: never, "), &RUN);
        assert!(trusted, "{name} {step}: {said:?}");
    }
}
