//! What a child run adds to its parent: verdicts, changed files, and what it spent of a budget.

use crate::child_projects::{parent_run, project};
use crate::running::Start;
use crate::scratch::Scratch;
use serde_json::{Value, json};

const WRITES: &str = "schema: kb.playbook/1
id: writes
params: [{name: word, default: one}]
steps:
  - id: make
    tool: fs:write
    input: {path: \"made/{{word}}.txt\", content: \"a\\nb\\n\"}
    verify: {checks: [{file: \"made/{{word}}.txt\"}]}
  - id: shell
    dependsOn: [make]
    run: \"echo c >> made/$WORD.txt; echo x > by-shell\"
    env: {WORD: \"{{word}}\"}
  - id: doubtful
    dependsOn: [shell]
    run: \"true\"
    verify: {checks: [{expr: \"1 == 2\"}], onFailed: warn}
outputs: {done: true}
";

const MIDDLE: &str = "schema: kb.playbook/1
id: middle
steps:
  - {id: inner, playbook: writes}
";

fn paths(diff: &Value) -> Vec<String> {
    let steps = diff["steps"].as_array().unwrap().iter();
    let files = steps.flat_map(|step| step["files"].as_array().unwrap());
    files.map(|file| file["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn verdicts_and_changed_files_reach_every_run_above() {
    let scratch = project("  - {id: call, playbook: middle, evidence: full}\n", &[MIDDLE, WRITES]);
    let said = scratch.kb(&["playbook", "run", "parent", "--json"]).code(0);
    let parent = parent_run(&scratch);
    let counts =
        json!({"passed": 1, "failed": 1, "inconclusive": 0, "unchecked": 0, "unproven": 1});
    let events = said.events();
    let ended = events.iter().find(|event| event["type"] == "child:end").expect("child:end");
    assert_eq!(ended["verdicts"], counts);
    let shown = scratch.json(&["run", "show", &parent, "--json"]);
    assert_eq!(shown["steps"][0]["childVerdicts"], counts);
    assert_eq!(shown["unproven"], 1);
    let text = scratch.kb(&["run", "show", &parent]).code(0);
    text.says(&["1 passed, 1 failed", "unproven"]);
    // With `evidence: full` also the changes by the commands of the child run are recorded.
    let diff = scratch.json(&["run", "diff", &parent, "--json"]);
    assert_eq!(paths(&diff), ["by-shell", "made/one.txt"]);
    assert_eq!(diff["steps"][0]["instance"], "call");
    scratch.kb(&["run", "verify", &parent]).code(0);
}

#[test]
fn strict_counts_the_gates_of_child_runs_also_of_a_kept_one() {
    let steps =
        "  - {id: call, playbook: middle}\n  - {id: more, dependsOn: [call], run: test -e go}\n";
    let scratch = project(steps, &[MIDDLE, WRITES]);
    scratch.kb(&["playbook", "run", "parent"]).code(1);
    scratch.write("go", "");
    let retried = scratch.kb(&["run", "retry", "@last:parent", "--json"]).code(0);
    let end = retried.events().pop().unwrap();
    assert_eq!((&end["type"], &end["unproven"]), (&json!("run:end"), &json!(1)));
    assert_eq!(scratch.json(&["run", "show", "@last:parent", "--json"])["unproven"], 1);
    let listed = scratch.json(&["run", "list", "--playbook", "parent", "--json"]);
    assert_eq!(listed[0]["unproven"], 1);
    scratch.kb(&["run", "list", "--playbook", "parent"]).code(0).says(&["succeeded, 1 unproven"]);
    let strict = scratch.kb(&["playbook", "run", "parent", "--strict"]).code(1);
    strict.says(&[
        "succeeded, 1 unproven",
        "1 gate of its child run did not pass: `kb run show r",
        "the gate of `call`",
    ]);
}

#[test]
fn the_gate_of_a_playbook_step_reads_the_changes_of_its_child_run() {
    let gate = |only: &str| {
        format!(
            "  - {{id: call, playbook: middle, verify: {{checks: [{{diff: {{only: [{only}]}}}}]}}}}\n"
        )
    };
    let scratch = project(&gate("\"made/**\", by-shell"), &[MIDDLE, WRITES]);
    scratch.kb(&["playbook", "run", "parent"]).code(0);
    let scratch = project(&gate("\"made/**\""), &[MIDDLE, WRITES]);
    scratch.kb(&["playbook", "run", "parent"]).code(1).says(&["by-shell"]);
    scratch.kb(&["run", "verify", &parent_run(&scratch)]).code(0);
}

#[test]
fn a_child_run_that_is_opened_again_counts_each_change_once() {
    let child = "schema: kb.playbook/1
id: flaky
steps:
  - {id: make, tool: fs:write, input: {path: made.txt, content: \"a\\n\"}}
  - {id: check, dependsOn: [make], run: test -e ready}
";
    let scratch = project("  - {id: call, playbook: flaky}\n", &[child]);
    scratch.kb(&["playbook", "run", "parent"]).code(1);
    let parent = parent_run(&scratch);
    let files = |scratch: &Scratch| {
        scratch.json(&["run", "diff", &parent, "--json"])["steps"][0]["files"].clone()
    };
    let before = files(&scratch);
    assert_eq!(before[0]["path"], "made.txt");
    scratch.write("ready", "");
    scratch.kb(&["run", "retry", &parent]).code(0);
    assert_eq!(files(&scratch)[0]["patches"], before[0]["patches"]);
}

#[test]
fn changes_that_a_child_run_did_not_merge_are_not_changes_of_its_parent() {
    let child = "schema: kb.playbook/1
id: trees
steps:
  - {id: keep, workspace: copy, merge: none, evidence: full, run: echo x > kept.txt}
  - {id: merge, workspace: copy, evidence: full, run: echo x > merged.txt}
";
    let scratch = project("  - {id: call, playbook: trees}\n", &[child]);
    scratch.kb(&["playbook", "run", "parent"]).code(0);
    let diff = scratch.json(&["run", "diff", &parent_run(&scratch), "--json"]);
    assert_eq!(paths(&diff), ["merged.txt"]);
}

const READER: &str = "schema: kb.specialist/1\nid: reader\nrole: You read.\ntools: [fs:list]\nllm: {maxTokens: 100}\n";
/// Each call uses 120 tokens; a reservation takes more.
const SCRIPT: &str = "schema: kb.script/1\nsteps:\n  think: [{output: {summary: done}, usage: {prompt: 100, completion: 20}}]\n";

/// A parent with these keys of its own and of its `playbook` step, whose child run has two specialist
/// steps and these keys.
fn budgets(own: &str, step: &str, child: &str) -> Scratch {
    let parent = format!(
        "schema: kb.playbook/1\nid: parent\n{own}\nsteps:\n  - {{id: call, playbook: thinks{step}}}\n"
    );
    let child = format!(
        "schema: kb.playbook/1\nid: thinks\n{child}\nsteps:\n  - {{id: think, specialist: reader, task: Think.}}\n  - {{id: again, dependsOn: [think], playbook: below}}\n"
    );
    let below = "schema: kb.playbook/1\nid: below\nsteps: [{id: think, specialist: reader, task: Think.}]\n";
    Scratch::new(&[
        (".kb/playbooks/parent.yml", &parent),
        (".kb/playbooks/thinks.yml", &child),
        (".kb/playbooks/below.yml", below),
        (".kb/specialists/reader.yml", READER),
        ("script.yml", SCRIPT),
    ])
}

#[test]
fn a_budget_limits_the_child_runs_below_it() {
    let run =
        |scratch: &Scratch| scratch.kb(&["playbook", "run", "parent", "--script", "script.yml"]);
    // Both calls together need more than 1,500 tokens as a reservation of the second one.
    let enough = "budget: {maxTokens: 100000}";
    let few = "budget: {maxTokens: 200}";
    run(&budgets(enough, &format!(", {enough}"), enough)).code(0);
    for (own, step, child, whose) in [
        (few, "", "", "the run"),
        ("", ", budget: {maxTokens: 200}", "", "step `call`"),
        ("", "", few, "child run `"),
    ] {
        let scratch = budgets(own, step, child);
        let said = run(&scratch).code(3);
        said.says(&["KB0585"]);
        let shown = scratch.kb(&["run", "show", &parent_run(&scratch)]).code(0);
        shown.says(&["the budget of 200 tokens of", whose, "--budget USD"]);
    }
}

#[test]
fn a_resumed_run_counts_what_its_child_run_spent_before() {
    let scratch = budgets("budget: {maxTokens: 3000}", "", "");
    // The second step of the child run waits for a file, so that the process can be killed in between.
    let child = "schema: kb.playbook/1\nid: thinks\nsteps:\n  - {id: think, specialist: reader, task: Think.}\n  - {id: hold, dependsOn: [think], run: 'touch started; while ! test -e ready; do sleep 0.05; done'}\n  - {id: again, dependsOn: [hold], playbook: below}\n";
    scratch.write(".kb/playbooks/thinks.yml", child);
    scratch.write("script.yml", &SCRIPT.replace("prompt: 100", "prompt: 2900"));
    let mut command = scratch.command();
    command.args(["playbook", "run", "parent", "--script", "script.yml"]);
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let mut process = command.start();
    let begun = std::time::Instant::now();
    while !scratch.has("started") {
        assert!(begun.elapsed().as_secs() < 60, "the child run starts");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    process.kill().expect("killed");
    process.wait().expect("ends");
    scratch.write("ready", "");
    scratch
        .kb(&["run", "resume", &parent_run(&scratch)])
        .code(3)
        .says(&["KB0585", "2920 tokens spent"]);
}
