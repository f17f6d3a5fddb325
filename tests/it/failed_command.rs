//! The line and command that a failed script of several lines names, and that a script does what it does without it.

use crate::locks::project;
use crate::running::Start;
use crate::scratch::Scratch;
use serde_json::json;
use std::process::Command;

fn script(text: &str) -> Scratch {
    project(&format!("steps: [{}]\n", json!({"id": "s", "run": text})))
}

/// Runs a script as a step and directly with bash: both say the same, and the step ends with `expected`.
#[track_caller]
fn check(text: &str, expected: &str) {
    let scratch = script(text);
    let direct = Command::new("bash")
        .args(["-euo", "pipefail", "-c", text])
        .current_dir(scratch.root())
        .finish();
    scratch.kb(&["playbook", "run", "p", "--yes"]);
    let shown = scratch.kb(&["run", "show", "@last", "--json"]).code(0).out;
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let step = &shown["steps"][0];
    let message = step["error"]["message"].as_str().unwrap_or_default();
    assert!(message.ends_with(expected), "{text}: {message}");
    assert_eq!(message.contains("(line "), expected.contains("(line "), "{text}: {message}");
    let logs = scratch.kb(&["run", "logs", "@last", "s", "--json"]).code(0).out;
    let of = |stream: &str| -> String {
        let lines =
            logs.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let lines = lines.filter(|line| line["channel"] == stream);
        lines.map(|line| line["text"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(of("stdout"), String::from_utf8_lossy(&direct.stdout), "{text}");
    assert_eq!(of("stderr"), String::from_utf8_lossy(&direct.stderr), "{text}");
    let code = direct.status.code().unwrap();
    assert!(code == 0 || message.starts_with(&format!("exit code {code}")), "{text}: {message}");
}

#[test]
fn a_failed_script_names_its_line_and_command() {
    check("echo a\nls /nonexistent\necho b", "(line 2: ls /nonexistent)");
    check("echo a\nls \\\n  /nonexistent\n", "(line 3: ls /nonexistent)");
    check("f() {\n  ls /nonexistent\n}\necho a\nf", "(line 2: ls /nonexistent)");
    check("echo a\nls /nonexistent | cat\necho b", "(line 2: ls /nonexistent | cat)");
    check("echo x |\n  grep y\necho b", "(line 2: … | grep y)");
    check("echo a\n(\n  set -e; false\n  echo c\n)", "(line 3: false)");
    check("echo a\nx=$(\nls /nonexistent)\necho b", "(line 3: x=$(ls /nonexistent))");
    check("for i in 1 2; do\n  [[ $i == 1 ]]\ndone", "(line 2: [[ $i == 1 ]])");
    check("echo a\nno-such-command", "(line 2: no-such-command)");
}

#[test]
fn a_failure_that_did_not_end_the_script_is_not_named() {
    check("set +e\nls /nonexistent\nexit 2", "No such file or directory");
    check("false || true\nif false; then :; fi\necho end >&2; exit 4", "exit code 4: end");
    check("f() { local x=$(false)\n}\nf\necho end >&2\nexit 1", "exit code 1: end");
}

#[test]
fn a_script_that_could_see_the_trap_has_none() {
    for text in [
        "trap 'echo mine >&2' ERR\nf() { false; }\nf",
        "trap 'echo bye' EXIT\necho a\nfalse",
        "echo \"$-\"\nfalse",
        "echo 'trap -p' > t.sh\n. ./t.sh\nfalse",
        "eval 'trap -p'\nfalse",
    ] {
        check(text, "");
    }
}

#[test]
fn what_a_script_sees_and_starts_is_as_without_the_trap() {
    check("echo ${BASH_ENV-none}\nbash -c 'echo ${BASH_ENV-none} $- ${PIPESTATUS[*]}'", "");
    check("set +e\nfalse | true\necho ${PIPESTATUS[*]} $?\nfalse\necho $?", "");
    check("exec 3>&1\necho out >&3\nx=$(echo in)\necho $x", "");
    check("printf() { command printf \"own $*\"; }\nprintf a >&2\nfalse", "(line 3: false)");
}

#[test]
fn a_failed_gate_names_the_values_of_its_expression() {
    let scratch = project(
        "steps: [{id: s, set: {count: 1}, verify: {checks: [{expr: 's.output.count > 5'}]}}]\n",
    );
    scratch.kb(&["playbook", "run", "p"]).code(1).says(&["1 > 5 is false"]);
}
