//! `diff` checks, and `command` checks that compare with the time before the step, through the binary.

use crate::running::Start;
use crate::scratch::Scratch;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

fn project(step: &str) -> Scratch {
    let text = format!("schema: kb.playbook/1\nid: p\nsteps:\n  - id: a\n{step}");
    let scratch = Scratch::new(&[(".kb/playbooks/p.yml", &text)]);
    scratch.write("src/a.txt", "1\n2\n3\n");
    scratch.write("src/b.txt", "1\n2\n3\n");
    scratch.write("Cargo.lock", "locked\n");
    scratch
}

/// The checks of the gate, as `check verdict reason`, and the evidence of the first.
fn checks(scratch: &Scratch) -> (Vec<String>, Value) {
    let events = scratch.kb(&["run", "events", "@last", "--json"]).code(0).events();
    let verdict = events.iter().find(|event| event["type"] == "verification:complete").unwrap();
    let checks = verdict["checks"].as_array().unwrap();
    let told = checks.iter().map(|check| {
        let text = |key: &str| check[key].as_str().unwrap_or_default();
        format!("{} {} {}", text("check"), text("verdict"), text("reason")).trim_end().to_owned()
    });
    (told.collect(), checks[0]["evidence"].clone())
}

fn diff(command: &str, limits: &str) -> (String, Value) {
    let step =
        format!("    run: |\n      {command}\n    verify: {{checks: [{{diff: {limits}}}]}}\n");
    let scratch = project(&step);
    scratch.kb(&["playbook", "run", "p"]);
    scratch.kb(&["run", "verify", "@last"]).code(0);
    let (checks, evidence) = checks(&scratch);
    (checks[0].clone(), evidence)
}

#[test]
fn a_diff_check_limits_what_a_step_changes() {
    let edit = "sed -i s/2/two/ src/a.txt";
    for (command, limits, expected) in [
        (edit, "{only: [\"src/**\"], maxFiles: 1, maxLines: 2}", "diff passed"),
        (edit, "{only: src}", "diff passed"),
        (
            "echo x > out.txt",
            "{only: [\"src/**\"]}",
            "diff failed the step changed `out.txt`, but only `src/**` may change",
        ),
        (
            "echo x >> Cargo.lock",
            "{forbid: [\"**/*.lock\", secrets]}",
            "diff failed the step changed `Cargo.lock`, but `forbid` names `**/*.lock`, `secrets`",
        ),
        (
            "rm src/b.txt; echo x > c; echo y > d",
            "{maxFiles: 2}",
            "diff failed the step changed 3 files (`c`, `d`, `src/b.txt`), and 2 may change",
        ),
        (edit, "{maxLines: 1}", "diff failed the step changed 2 lines, and 1 may change"),
        // Changed and changed back, or only touched, is no change.
        ("echo x >> src/a.txt; printf '1\\n2\\n3\\n' > src/a.txt", "{maxFiles: 0}", "diff passed"),
        ("touch src/a.txt", "{maxFiles: 0, maxLines: 0}", "diff passed"),
        (
            "head -c 100000 /dev/zero > src/a.txt",
            "{maxLines: 5}",
            "diff inconclusive the number of changed lines in `src/a.txt` is not known: it is binary or \
             too large",
        ),
    ] {
        assert_eq!(diff(command, limits).0, expected, "{command} {limits}");
    }
    let evidence = diff("echo 4 >> src/a.txt; rm src/b.txt", "{maxFiles: 5}").1;
    assert_eq!(evidence["changed"], 2);
    assert_eq!((&evidence["added"], &evidence["removed"]), (&1.into(), &3.into()));
    assert_eq!(evidence["files"][0]["path"], "src/a.txt");
}

#[test]
fn lines_of_several_edits_count_once() {
    let agent = "schema: kb.specialist/1\nid: dev\nrole: edit\n\
                 tools: [fs:edit]\n";
    let step = "    specialist: dev\n    task: edit\n    output: {schema: {done: boolean}}\n    verify: {checks: [{diff: {maxLines: 2}}]}\n";
    let scratch = project(step);
    scratch.write(".kb/specialists/dev.yml", agent);
    let edit = |old: &str, new: &str| {
        format!(
            "    - calls: [{{tool: fs:edit, args: {{path: src/a.txt, old: \"{old}\", new: \"{new}\"}}}}]\n"
        )
    };
    let turns = [edit("2", "two"), edit("two", "zwei"), edit("zwei", "deux")].concat();
    let script = format!(
        "schema: kb.script/1\nsteps:\n  a:\n{turns}    - output: {{done: true, summary: done}}\n"
    );
    scratch.write("script.yml", &script);
    scratch.kb(&["playbook", "run", "p", "--script", "script.yml"]).code(0);
    scratch.kb(&["run", "verify", "@last"]).code(0);
    assert!(checks(&scratch).0.contains(&"diff passed".to_owned()), "{:?}", checks(&scratch));
}

fn compared(before: &str, work: &str, check: &str) -> Vec<String> {
    let check = format!("{{command: [sh, t.sh], {check}}}");
    let step =
        format!("    run: |\n      {work}\n    verify: {{checks: [{check}], onFailed: fail}}\n");
    let scratch = project(&step);
    scratch.write("t.sh", before);
    scratch.kb(&["playbook", "run", "p"]);
    scratch.kb(&["run", "verify", "@last"]).code(0);
    checks(&scratch).0
}

#[test]
fn a_command_is_compared_with_its_run_before_the_step() {
    let counts = |passed: u32| format!("echo '{passed} passed in 0.1s'\n");
    for (before, work, check, expected) in [
        ("grep -q two src/a.txt", "sed -i s/2/two/ src/a.txt", "mustFailBefore: true", "passed"),
        (
            "grep -q 1 src/a.txt",
            "sed -i s/2/two/ src/a.txt",
            "mustFailBefore: true",
            "failed exit code 0, but the command succeeded before the step too, so it proves nothing",
        ),
        (
            "exit 1",
            "echo exit 0 > t.sh",
            "mustFailBefore: true, inputs: [t.sh]",
            "failed exit code 0, but the step changed files that decide this check: `t.sh`",
        ),
        (&counts(3), "echo x > src/c.txt", "tests: {minCount: 3, notFewer: true}", "passed"),
        (
            &counts(3),
            "echo \"echo '2 passed in 0.1s'\" > t.sh",
            "tests: {notFewer: true}",
            "failed exit code 0, but 2 tests ran, and 3 before the step",
        ),
        (
            &counts(0),
            "true",
            "tests: {minCount: 1}",
            "failed exit code 0, but 0 tests ran, and 1 are required",
        ),
        (
            "true",
            "true",
            "tests: {}",
            "inconclusive exit code 0, but its output reports no number of tests in a known form",
        ),
    ] {
        let found = compared(before, work, check);
        assert_eq!(found, [format!("command sh t.sh {expected}")], "{before} {work} {check}");
    }
}

#[test]
fn a_check_that_needs_the_start_of_a_step_is_refused_in_a_gate_step() {
    for (check, key) in [
        ("{diff: {maxFiles: 1}}", "diff"),
        ("{command: [\"true\"], mustFailBefore: true}", "mustFailBefore"),
        ("{command: [\"true\"], tests: {notFewer: true}}", "tests.notFewer"),
    ] {
        let scratch = project(&format!("    gate: [{check}]\n"));
        let said = scratch.kb(&["playbook", "validate"]);
        said.code(2).says(&[&format!("`{key}` is about the work of its step"), "verify.checks"]);
    }
    let scratch = project("    run: \"true\"\n    verify: {checks: [{diff: {onyl: [a]}}]}\n");
    scratch.kb(&["playbook", "validate"]).code(2).says(&["`onyl`", "only"]);
}

/// The author counts a part of the tests; a report about the tests is about all of them.
#[test]
fn a_check_that_runs_a_part_of_the_tests_leaves_a_claim_about_them_open() {
    let test = |body: &str| {
        format!(
            "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_it(self):\n        {body}\n"
        )
    };
    for (more, named, expected) in [
        (&["tests.test_a"][..], false, "inconclusive"),
        (&["tests.test_a"][..], true, "passed"),
        (&[][..], false, "failed"),
    ] {
        let argv = [&["python3", "-m", "unittest"][..], more].concat();
        let check = json!({"command": argv, "tests": {"minCount": 1}});
        let playbook = json!({"schema": "kb.playbook/1", "id": "p", "steps": [
            {"id": "w", "agent": "writer", "task": "x", "verify": {"maxReworks": 0, "checks": [check]}}]});
        let settings = match named {
            true => "testCommands: ['python3 -m unittest tests.test_a']\n",
            false => "testCommands: ['make verify']\n",
        };
        let write = json!({"tool": "fs:write", "args": {"path": "a.py", "content": "x = 1\n"}});
        let output = json!({"created": ["a.py"], "testResult": "passed", "summary": "Done."});
        let script = json!({"schema": "kb.script/1", "steps": {"w": [{"calls": [write]}, {"output": output}]}});
        let scratch = Scratch::new(&[
            (".kb/playbooks/p.yml", &playbook.to_string()),
            (".kb/kb.config.yml", settings),
            (
                ".kb/specialists/writer.yml",
                "schema: kb.specialist/1\nid: writer\nrole: x\ntools: [fs:write]\n",
            ),
            ("script.yml", &script.to_string()),
            ("tests/__init__.py", ""),
            ("tests/test_a.py", &test("pass")),
            ("tests/test_b.py", &test("self.fail()")),
        ]);
        let said = scratch.kb(&["playbook", "run", "p", "--script", "script.yml"]);
        assert!(said.code <= 1, "{said:?}");
        let shown = scratch.json(&["run", "show", "@last", "--json"]);
        assert_eq!(shown["steps"][0]["verdict"], expected, "{argv:?} {named}: {shown:#}");
    }
}

/// Its own limit or that of the step stops it. Nothing is proven then.
#[test]
fn a_check_that_never_ends_is_stopped_and_proves_nothing() {
    for step in [
        "    run: 'true'\n    verify: {checks: [{command: [sleep, '600'], timeout: 300ms}]}\n",
        "    run: 'true'\n    timeout: 1s\n    verify: {checks: [{command: [sleep, '600']}]}\n",
        "    timeout: 1s\n    gate: [{command: [bash, -c, 'sleep 600 & wait']}]\n",
    ] {
        let scratch = project(step);
        scratch.kb(&["playbook", "run", "p"]).code(0).says(&["1 unproven"]);
        let (found, _) = checks(&scratch);
        assert!(found[0].contains("inconclusive timeout after"), "{step}: {found:?}");
        scratch.kb(&["run", "verify", "@last"]).code(0);
        scratch.kb(&["playbook", "run", "p", "--strict"]).code(1);
    }
}

/// Waits for at most a minute.
fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < Duration::from_secs(60), "not within a minute: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The second SIGTERM ends a run whose check never ends, with the processes of the check.
#[test]
fn a_run_with_a_check_that_never_ends_can_be_stopped() {
    let mark = format!("600.{}", std::process::id());
    let scratch = project(&format!(
        "    run: 'true'\n    verify: {{checks: [{{command: [bash, -c, 'touch begun; sleep {mark} & wait']}}]}}\n"
    ));
    let mut kb = scratch.command();
    kb.args(["playbook", "run", "p"]).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut kb = kb.start();
    let mut said = BufReader::new(kb.stderr.take().unwrap()).lines().map_while(Result::ok);
    until("the check begins", || scratch.has("begun"));
    let pid = rustix::process::Pid::from_child(&kb);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(said.any(|line| line.contains("press again to kill")), "it does not stop");
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    until("the run ends", || kb.try_wait().unwrap().is_some());
    assert_ne!(kb.wait().unwrap().code(), Some(0));
    let of_check = |entry: std::fs::DirEntry| {
        let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&command).contains(&mark)
    };
    until("the processes of the check end", || {
        !std::fs::read_dir("/proc").unwrap().flatten().any(of_check)
    });
}

/// A specialist that corrects a module, runs its tests as its author would, and says so.
#[test]
fn what_a_run_of_tests_writes_beside_sources_is_no_change_of_what_decides_it() {
    let text = "schema: kb.playbook/1
id: p
steps:
  - id: a
    specialist: dev
    task: Fix add in calc.py.
    verify: {maxReworks: 0, checks: [{command: [python3, -m, unittest, discover, -s, tests, -t, .], inputs: [\"tests/**\"]}]}
";
    let script = "schema: kb.script/1
steps:
  a:
    - calls: [{tool: fs:write, args: {path: calc.py, content: \"def add(a, b):\\n    return a + b\\n\"}}]
    - calls: [{tool: shell:exec, args: {command: \"python3 -m unittest discover -s tests -t .\"}}]
    - output: {summary: Done., modified: [calc.py], testResult: passed}
";
    let test = "import unittest\nfrom calc import add\n\n\nclass Add(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(1, 1), 2)\n";
    let scratch = Scratch::new(&[
        (".kb/playbooks/p.yml", text),
        (
            ".kb/specialists/dev.yml",
            "schema: kb.specialist/1\nid: dev\nrole: You fix.\ntools: [\"fs:write\", \"shell:exec\"]\n",
        ),
        ("calc.py", "def add(a, b):\n    return a - b\n"),
        ("tests/__init__.py", ""),
        ("tests/test_calc.py", test),
        ("s.yml", script),
    ]);
    let said = scratch.kb(&["playbook", "run", "p", "--script", "s.yml", "--yes"]);
    said.code(0).says(&["succeeded"]);
    let (checks, _) = checks(&scratch);
    assert!(checks.iter().all(|check| check.contains(" passed")), "{checks:?}");
    assert!(!scratch.has("tests/__pycache__") && !scratch.has("__pycache__"));
}
