//! The shipped implementer with a scripted model, through the binary.

use crate::scratch::Scratch;
use serde_json::json;

/// A project with one implementer step and these turns of its model.
fn project(turns: &str) -> Scratch {
    let implementer = include_str!("../../../.kb/specialists/implementer.yml");
    let playbook = "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: a, specialist: implementer, task: \
                    edit, input: {context: none}, verify: {maxReworks: 0}}\n";
    let script = format!("schema: kb.script/1\nsteps:\n  a:\n{turns}");
    let scratch = Scratch::new(&[("playbooks/p.yml", playbook), ("script.yml", &script)]);
    scratch.write(".kb/specialists/implementer.yml", implementer);
    scratch.write(".kb/kb.config.yml", "sandbox: {criticalUnapprovedAt: none}\n");
    scratch.write("a.sh", "echo one\n");
    scratch.write("tests/a_test.sh", "grep -q two a.sh\n");
    scratch
}

const RUN: [&str; 5] = ["playbook", "run", "p", "--script", "script.yml"];

const EDIT: &str = "    - calls: [{tool: fs:edit, args: {path: a.sh, old: one, new: two}}]\n";

fn report(command: &str) -> String {
    format!(
        "    - output: {{created: [], modified: [a.sh], commands: [\"{command}\"], testResult: passed, \
         summary: done}}\n"
    )
}

#[test]
fn a_command_that_never_ran_and_tests_that_never_passed_fail_the_step() {
    let failed = "    - calls: [{tool: shell:exec, args: {command: exit 1}}]\n";
    for (calls, shown) in [("", None), (failed, Some("unchecked"))] {
        let scratch = project(&format!("{EDIT}{calls}{}", report("npm test")));
        scratch.kb(&RUN).code(1).says(&["`npm test` is claimed to have run, but no recorded call"]);
        let events = scratch.kb(&["run", "events", "@last"]).code(0).events();
        let verdict = events.iter().find(|event| event["type"] == "verification:complete").unwrap();
        let checks: Vec<&str> = verdict["checks"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|c| c["verdict"].as_str())
            .collect();
        // A failed command that no claim mentions is shown.
        let expected: Vec<&str> = ["passed", "failed", "failed"].into_iter().chain(shown).collect();
        assert_eq!(checks, expected, "{verdict}");
        scratch.kb(&["run", "verify", "@last"]).code(0);
    }
}

#[test]
fn a_test_run_after_the_edit_passes_and_is_recomputed() {
    let calls = "    - calls: [{tool: shell:exec, args: {command: sh tests/a_test.sh}}]\n";
    let scratch = project(&format!("{EDIT}{calls}{}", report("sh tests/a_test.sh")));
    scratch.kb(&RUN).code(0);
    scratch.kb(&["run", "verify", "@last"]).code(0).says(&["verdicts  1"]);
}

#[test]
fn a_verdict_is_stale_when_its_file_changed_before_a_later_step_reads_from_it() {
    let playbook = |between: &str| {
        format!(
            "schema: kb.playbook/1\nid: p\nsteps:\n  - {{id: write, specialist: dev, task: Write.}}\n  \
             - {{id: between, dependsOn: [write], run: \"{between}\"}}\n  \
             - {{id: reader, dependsOn: [write, between], run: cat src/a.txt}}\n"
        )
    };
    let script = json!({"schema": "kb.script/1", "steps": {"write": [
        {"calls": [{"tool": "fs:write", "args": {"path": "src/a.txt", "content": "one\n"}}]},
        {"output": {"summary": "done", "created": ["src/a.txt"]}},
    ]}});
    let notes = |between: &str| -> Vec<String> {
        let scratch = Scratch::new(&[
            ("playbooks/p.yml", &playbook(between)),
            (
                ".kb/specialists/dev.yml",
                "schema: kb.specialist/1\nid: dev\nrole: You write.\ntools: [fs:write]\n",
            ),
            ("script.json", &script.to_string()),
        ]);
        let run = ["playbook", "run", "p", "--script", "script.json", "--json"];
        let events = scratch.kb(&run).code(0).events();
        let verdicts = events.iter().filter(|e| e["type"] == "verification:complete");
        assert!(verdicts.clone().all(|event| event["verdict"] == "passed"));
        scratch.kb(&["run", "verify", "@last"]).code(0);
        let notes = events.iter().filter(|e| e["type"] == "step:note" && e["step"] == "reader");
        notes.map(|event| event["text"].to_string()).collect()
    };
    assert_eq!(notes("true"), [""; 0]);
    for between in ["echo two > src/a.txt", "echo more >> src/a.txt"] {
        let found = notes(between);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("the verdict on `write` is stale: `src/a.txt`"), "{found:?}");
    }
}

#[test]
fn a_verdict_is_stale_when_a_file_that_its_check_found_is_gone() {
    let notes = |between: &str| {
        let playbook = format!(
            "schema: kb.playbook/1\nid: p\nsteps:\n  \
             - {{id: w, run: 'echo x > n.txt; echo y > m.txt', verify: {{checks: [{{file: 'n.*'}}]}}}}\n  \
             - {{id: between, dependsOn: [w], run: '{between}'}}\n  \
             - {{id: after, dependsOn: [w, between], run: 'true'}}\n"
        );
        let scratch = Scratch::new(&[("playbooks/p.yml", &playbook)]);
        let events = scratch.kb(&["playbook", "run", "p", "--json"]).code(0).events();
        let notes = events.iter().filter(|event| event["type"] == "step:note");
        notes.map(|event| event["text"].to_string()).collect::<String>()
    };
    assert_eq!(notes("rm m.txt; echo z > n.txt"), "");
    assert!(notes("rm n.txt").contains("the verdict on `w` is stale: `n.txt`"));
}

#[test]
fn a_larger_file_of_the_same_size_is_compared_with_its_digest_of_an_earlier_step() {
    let step = |id: &str, byte: &str, after: &str| {
        format!(
            "  - id: {id}\n    dependsOn: [{after}]\n    parse: json\n    evidence: full\n    verify: \
             {{claims: strict}}\n    run: |\n      head -c 100000 /dev/zero | tr '\\0' {byte} > big.txt\n      \
             echo '{{\"modified\": [\"big.txt\"]}}'\n"
        )
    };
    let playbook = format!(
        "schema: kb.playbook/1\nid: p\nsteps:\n{}  - {{id: wait, dependsOn: [first], run: sleep 0.1}}\n{}{}",
        step("first", "a", ""),
        step("changed", "b", "wait"),
        "  - {id: wait2, dependsOn: [changed], run: sleep 0.1}\n".to_owned()
            + &step("unchanged", "b", "wait2"),
    );
    let scratch = Scratch::new(&[("playbooks/p.yml", &playbook), ("big.txt", "x")]);
    scratch.kb(&["playbook", "run", "p"]).code(1);
    let events = scratch.kb(&["run", "events", "@last"]).code(0).events();
    let verdicts: Vec<_> = events
        .iter()
        .filter(|event| event["type"] == "verification:complete")
        .map(|event| (event["instance"].as_str().unwrap(), event["verdict"].as_str().unwrap()))
        .collect();
    assert_eq!(verdicts[..2], [("first", "passed"), ("changed", "passed")]);
    assert!(
        verdicts[2..].iter().all(|verdict| *verdict == ("unchanged", "failed")),
        "{verdicts:?}"
    );
}

#[test]
fn a_larger_file_of_the_same_size_is_compared_with_its_content_before_the_run() {
    let playbook = "schema: kb.playbook/1\nid: p\nsteps:\n  - id: change\n    parse: json\n    evidence: full\n    \
                    verify: {claims: strict}\n    run: |\n      head -c 100000 /dev/zero | tr '\\0' b > big.txt\n      \
                    echo '{\"modified\": [\"big.txt\"]}'\n";
    let big = "a".repeat(100_000);
    let scratch = Scratch::new(&[("playbooks/p.yml", playbook), ("big.txt", &big)]);
    // A file that was just written is always read.
    std::thread::sleep(std::time::Duration::from_millis(100));
    scratch.kb(&["playbook", "run", "p", "--strict"]).code(0);
    std::thread::sleep(std::time::Duration::from_millis(100));
    scratch.kb(&["playbook", "run", "p"]).code(1);
}
