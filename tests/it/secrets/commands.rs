//! Secrets that a command gives, and those that cannot be obtained.

use crate::running::Start;
use crate::scratch::{Said, Scratch, until};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

fn project(settings: &str, body: &str) -> Scratch {
    let playbook = format!("schema: kb.playbook/1\nid: p\n{body}");
    Scratch::new(&[("playbooks/p.yml", &playbook), (".kb/kb.config.yml", settings)])
}

fn run(scratch: &Scratch) -> Said {
    scratch.kb_with(&["playbook", "run", "p"], |command| {
        command.env("KB_SHORT", "abc").env("KB_WORD", "true");
    })
}

fn status(scratch: &Scratch, step: &str) -> Value {
    let shown = scratch.json(&["run", "show", "@last", "--json"]);
    let steps = shown["steps"].as_array().unwrap();
    steps.iter().find(|found| found["instance"] == step).unwrap()["status"].clone()
}

#[test]
fn a_command_runs_once_for_all_steps_that_need_it() {
    let scratch = project(
        "secrets: {T: {command: [bash, -c, 'echo x >> asked; sleep 0.2; echo told-77a1f0c2']}}\n",
        "limits: {maxParallel: 4}
steps:
  - {id: a, forEach: [1, 2, 3, 4, 5, 6], env: {T: '{{secrets.T}}'}, run: 'test \"$T\" = told-77a1f0c2'}
  - {id: g, dependsOn: [a], env: {T: '{{secrets.T}}'}, gate: [{command: [bash, -c, 'test \"$T\" = told-77a1f0c2']}]}
",
    );
    run(&scratch).code(0);
    assert_eq!(scratch.read("asked"), "x\n");
}

#[test]
fn others_go_on_while_a_command_takes_its_time() {
    let scratch = project(
        "secrets: {T: {command: [bash, -c, 'until test -e go; do sleep 0.02; done; echo told-77a1f0c2']}}\n",
        "limits: {maxParallel: 2}
steps:
  - {id: a, env: {T: '{{secrets.T}}'}, run: 'test \"$T\" = told-77a1f0c2'}
  - {id: b, run: 'echo > went'}
  - {id: c, dependsOn: [b], run: 'touch go'}
",
    );
    run(&scratch).code(0);
}

#[test]
fn a_run_is_cancelled_while_a_command_of_a_secret_waits() {
    let scratch = project(
        "secrets: {T: {command: [bash, -c, 'echo $$ > pid; sleep 300']}}\n",
        "steps: [{id: a, env: {T: '{{secrets.T}}'}, run: touch ran}]\n",
    );
    let mut command = scratch.command();
    command.args(["playbook", "run", "p", "--json"]).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.start();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("step:start")));
    until("the command begins", || scratch.has("pid"));
    let began = Instant::now();
    scratch.kb(&["run", "cancel", "@last"]).code(0);
    lines.for_each(drop);
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(began.elapsed() < Duration::from_secs(15), "its 20 s are not waited for");
    assert_eq!(status(&scratch, "a"), "cancelled");
    assert!(!scratch.has("ran"));
}

#[test]
fn a_step_s_own_time_holds_over_the_command() {
    let scratch = project(
        "secrets: {T: {command: [sleep, '300']}}\n",
        "steps: [{id: a, timeout: 300ms, env: {T: '{{secrets.T}}'}, run: touch ran}]\n",
    );
    run(&scratch).code(1).says(&["failed a", "took longer than 300ms", "KB0556"]);
}

#[test]
fn a_command_that_gives_no_secret_fails_its_step_and_nothing_that_it_said_is_kept() {
    let check = |command: &str, expected: &str| {
        let settings = format!("secrets: {{T: {{command: {}}}}}\n", json!(["bash", "-c", command]));
        let scratch =
            project(&settings, "steps: [{id: a, env: {T: '{{secrets.T}}'}, run: touch ran}]\n");
        let said = run(&scratch).code(1).says(&["failed a", "`T`", expected]);
        assert!(!format!("{said:?}").contains("no-5e1c"), "{said:?}");
        let state = scratch.root().parent().unwrap().join("state");
        let texts = super::scan::Texts::of(["no-5e1cret-9"]);
        // The command's own text is in the settings, which are frozen; what it printed is not.
        assert_eq!(super::scan::files_with(&state, &texts), [""; 0]);
        assert!(!scratch.has("ran"));
    };
    check("echo no-5e1cret-$((4+5)); echo no-5e1cret-$((4+5)) >&2; exit 3", "exit code 3 [KB0568]");
    check("true", "printed nothing");
    check("head -c 70000 /dev/zero | tr '\\0' x", "more than 64 KiB");
    check("printf 'no-5e1cret-\\xff\\xfe'", "not UTF-8");
    check("echo seven-7", "fewer than 8");
    check("kill -9 $$", "signal 9 [KB0568]");
}

#[test]
fn a_failed_command_runs_anew_for_a_retry() {
    let scratch = project(
        "secrets: {T: {command: [bash, -c, 'echo x >> asked; test -e asked2 || { touch asked2; exit 1; }; echo told-77a1f0c2']}}\n",
        "steps: [{id: a, env: {T: '{{secrets.T}}'}, retry: {max: 1, on: [tool_error], initial: 1ms}, run: 'test \"$T\" = told-77a1f0c2'}]\n",
    );
    run(&scratch).code(0);
    assert_eq!(scratch.read("asked"), "x\nx\n");
}

#[test]
fn a_secret_that_cannot_be_masked_is_not_handed_out() {
    for name in ["KB_SHORT", "KB_WORD"] {
        let scratch = project(
            &format!("secrets: {{T: 'env:{name}'}}\n"),
            "steps: [{id: a, env: {T: '{{secrets.T}}'}, run: touch ran}]\n",
        );
        run(&scratch).code(1).says(&["failed a", "KB0569", "`T`"]);
        assert!(!scratch.has("ran"));
    }
}

#[test]
fn a_secret_that_is_not_set_may_have_a_default() {
    let scratch = project(
        "secrets: {T: 'env:KB_ABSENT'}\n",
        "steps: [{id: a, env: {T: \"{{secrets.T | default('none')}}\"}, run: 'test \"$T\" = none'}]\n",
    );
    run(&scratch).code(0);
}

/// Words that show a value cut show no half of a secret.
#[test]
fn an_output_that_does_not_fit_its_schema_is_masked_before_it_is_cut() {
    let token = format!("begin-{}", "5ecr".repeat(50));
    for (parse, script) in
        [("json", r#"printf "{\"r\": \"%s\"}" "$T""#), ("text", r#"printf %s "$T""#)]
    {
        let schema = if parse == "json" { "{r: passed | failed}" } else { "passed | failed" };
        let steps = format!(
            "steps:\n  - id: a\n    env: {{T: '{{{{secrets.T}}}}'}}\n    run: '{script}'\n    parse: {parse}\n    output: {{schema: {schema}}}\n"
        );
        let scratch = project("secrets: {T: 'env:KB_TOKEN'}\n", &steps);
        let said = scratch.kb_with(&["playbook", "run", "p"], |command| {
            command.env("KB_TOKEN", &token);
        });
        let events = scratch.kb(&["run", "events", "@last"]).code(0).out;
        assert!(events.contains("KB0") && events.contains("«secret:T»"), "{events}");
        for text in [&said.code(1).err, &events] {
            assert!(!text.contains("begin-5ecr"), "{text}");
        }
    }
}

/// A file of parameters may hold a secret in any of its lines, also in one that is wrong otherwise.
#[test]
fn no_line_of_a_parameter_file_is_shown_where_one_may_be_a_secret() {
    let scratch = project(
        "{}\n",
        "params: [{name: n, type: integer, required: false}, {name: token, type: secret, required: false}]\nsteps: [{id: a, run: 'true'}]\n",
    );
    for (name, text, told) in [
        ("one.json", r#"{"n": "x", "token": "hunter2"}"#, "one.json:1:7"),
        ("strange.yml", "n: 1\ntokn: hunter2\n", "strange.yml:2:1"),
        ("broken.yml", "n: [1\ntoken: hunter2\n", "broken.yml:"),
        (".env", "TOKEN=hunter2\n", ".env:1:1"),
    ] {
        scratch.write(name, text);
        let said = scratch.kb(&["playbook", "run", "p", "--params", name]).code(2);
        let shown = said.err.clone();
        said.says(&[told]);
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
