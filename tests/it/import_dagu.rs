//! Workflows of Dagu run as Dagu 1.30 runs them. What is expected here was seen there.

use crate::scratch::{Said, Scratch};

/// Imports a workflow and runs it; its folder has what the commands wrote.
fn imported(text: &str) -> (Scratch, Said) {
    let scratch = Scratch::new(&[("w.yaml", text)]);
    let said = scratch.kb(&["playbook", "import", "w.yaml", "--from", "dagu"]).code(0);
    (scratch, said)
}

#[test]
fn a_step_without_depends_waits_for_the_one_above_it() {
    let (scratch, _) = imported(
        "steps:
  - {name: a, command: 'sleep 0.2; echo a >> order'}
  - {name: b, command: 'echo b >> order', depends: [a]}
  - {name: c, command: 'echo c >> order; exit 1'}
  - {name: d, command: 'echo d >> free', depends: []}
  - {name: e, command: 'echo e >> free', depends: c}
  - {name: f, command: 'echo f >> free'}
",
    );
    scratch.kb(&["playbook", "run", "w"]).code(1);
    assert_eq!(scratch.read("order"), "a\nb\nc\n");
    assert_eq!(scratch.read("free"), "d\n", "what follows a failed step does not run");
}

#[test]
fn commands_have_the_shell_options_of_dagu() {
    let (scratch, _) = imported(
        "type: graph
steps:
  - {name: unset, command: 'echo \"x$1y\" > unset'}
  - {name: pipe, command: 'false | cat; echo on > pipe'}
  - {name: stops, command: \"false\\necho on > stops\", continueOn: failed}
  - {name: goes-on, command: bash, script: \"false\\necho on > goes-on\"}
  - {name: each, command: ['A=1', 'cd /', 'echo \"$PWD [$A]\" > each']}
",
    );
    scratch.kb(&["playbook", "run", "w"]).code(0);
    assert_eq!(scratch.read("unset"), "xy\n");
    assert_eq!(scratch.read("pipe"), "on\n");
    assert!(!scratch.root().join("stops").exists());
    assert_eq!(scratch.read("goes-on"), "on\n");
    assert!(scratch.read("each").ends_with("project []\n"), "{}", scratch.read("each"));
}

#[test]
fn a_script_is_executed_by_the_program_of_its_first_line() {
    let script = "#!/usr/bin/env python3\nopen('made', 'w').write('by python')\n";
    let text = format!("steps:\n  - script: |\n      {}\n", script.replace('\n', "\n      "));
    let (scratch, _) = imported(&text);
    scratch.kb(&["playbook", "run", "w"]).code(0);
    assert_eq!(scratch.read("made"), "by python");
    // Dagu puts the value into the text.
    let text = text.replace("by python", "$N").replace("steps:", "params: [{N: 5}]\nsteps:");
    let (scratch, said) = imported(&text);
    said.says(&["`${N}` in a script of `python3` is not mapped"]);
    scratch.kb(&["playbook", "run", "w"]).code(1);
    assert!(!scratch.root().join("made").exists());
}

#[test]
fn a_precondition_that_compares_a_variable_is_a_condition() {
    let (scratch, _) = imported(
        "params: [{WHERE: eu}]
env: [{MODE: prod}]
type: graph
steps:
  - {name: get, command: \"echo '  yes '\", output: GOT}
  - {name: a, command: 'echo a >> ran', depends: get, preconditions: [{condition: \"${GOT}\", expected: 'yes'}, {condition: $MODE, expected: prod}]}
  - {name: b, command: 'echo b >> ran', depends: a, preconditions: {condition: $WHERE, expected: us}}
  - {name: c, command: 'echo c >> ran', depends: b}
",
    );
    scratch.kb(&["playbook", "run", "w"]).code(0).says(&["2 skipped"]);
    assert_eq!(scratch.read("ran"), "a\n");
    for other in [
        "'test -d /'",
        "[{condition: $WHERE, expected: 're:e.'}]",
        "[{condition: $NONE, expected: x}]",
    ] {
        let (scratch, said) = imported(&format!(
            "params: [{{WHERE: eu}}]\nsteps:\n  - {{name: a, command: 'touch ran', preconditions: {other}}}\n"
        ));
        said.says(&["a precondition that is no variable with a text is not mapped"]);
        scratch.kb(&["playbook", "run", "w"]).code(1);
        assert!(!scratch.root().join("ran").exists(), "{other}");
    }
}

#[test]
fn variables_about_the_run_have_their_values_or_fail() {
    let (scratch, _) = imported(
        "name: nightly\nsteps:\n  - {name: say it, command: 'echo \"$DAG_NAME ${DAG_RUN_STEP_NAME}\" > said; test -n \"$DAG_RUN_ID\"'}\n",
    );
    scratch.kb(&["playbook", "run", "nightly"]).code(0);
    assert_eq!(scratch.read("said"), "nightly say it\n");
    for (name, reference) in [("log", "${DAG_RUN_LOG_FILE}"), ("file", "${first.stdout}")] {
        let (scratch, said) = imported(&format!(
            "steps:\n  - {{id: first, command: pwd}}\n  - {{name: {name}, command: 'touch ran; cat {reference}'}}\n"
        ));
        said.says(&[&format!("`{reference}` is not mapped")]);
        scratch.kb(&["playbook", "run", "w"]).code(1);
        assert!(!scratch.root().join("ran").exists());
    }
}
