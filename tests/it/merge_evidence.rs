//! Files that `kb` writes while a step runs in the project are not changes of that step.

use crate::running::Start;
use crate::scratch::Scratch;
use rustix::fs::{FlockOperation, flock};
use serde_json::Value;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// The changed paths of a step, as the record has them.
fn changed(scratch: &Scratch, step: &str) -> Vec<String> {
    let diff = scratch.json(&["run", "diff", "@last", step, "--json"]);
    let files = diff["steps"].as_array().unwrap().iter();
    let files = files.flat_map(|step| step["files"].as_array().unwrap());
    files.map(|file: &Value| file["path"].as_str().unwrap().to_owned()).collect()
}

/// A step that starts before a merge and ends after it. Its gate permits its own files alone.
#[test]
fn merged_files_are_not_changes_of_a_step_that_runs_beside() {
    let text = "schema: kb.playbook/1
id: p
limits: {maxParallel: 2}
steps:
  - id: own
    workspace: copy
    evidence: full
    run: |
      until test -e \"$ROOT/began\"; do sleep 0.05; done
      echo merged > made.txt; echo merged >> both.txt; sed -i 's/^1$/one/' lines.txt
    env: {ROOT: ROOTDIR}
  - id: beside
    evidence: full
    timeout: 60s
    run: |
      touch began
      until test -e made.txt && grep -q one lines.txt && grep -q merged both.txt; do sleep 0.05; done
      echo mine > mine.txt; sed -i 's/^9$/nine/' lines.txt
    verify: {checks: [{diff: {only: [began, mine.txt, lines.txt]}}]}
";
    let scratch =
        Scratch::new(&[("lines.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n"), ("both.txt", "a\n")]);
    let root = format!("\"{}\"", scratch.root().display());
    scratch.write("playbooks/p.yml", &text.replace("ROOTDIR", &root));
    scratch.kb(&["playbook", "run", "p"]).code(0);
    assert_eq!(changed(&scratch, "beside"), ["began", "lines.txt", "mine.txt"]);
    assert_eq!(changed(&scratch, "own"), ["both.txt", "lines.txt", "made.txt"]);
    // The difference of a file that both changed is that of the step alone.
    let diff = scratch.kb(&["run", "diff", "@last", "beside"]).code(0).out;
    assert!(diff.contains("+nine") && !diff.contains("+one"), "{diff}");
    assert_eq!(scratch.read("lines.txt"), "one\n2\n3\n4\n5\n6\n7\n8\nnine\n");
    scratch.kb(&["run", "verify", "@last"]).code(0);
}

/// The same for the files of a stored result, and for a call of a file tool in another step.
#[test]
fn restored_files_and_calls_of_tools_are_not_changes_of_a_step_that_runs_beside() {
    let text = "schema: kb.playbook/1
id: p
limits: {maxParallel: 2}
steps:
  - id: first
    run: until test -e began; do sleep 0.05; done
  - id: stored
    dependsOn: [first]
    run: mkdir -p out; cat in.txt > out/stored.txt
    cache: {inputs: in.txt, outputs: \"out/**\"}
  - id: written
    dependsOn: [stored]
    tool: fs:write
    input: {path: written.txt, content: x}
  - id: beside
    evidence: full
    timeout: 60s
    run: touch began; until test -e written.txt; do sleep 0.05; done; echo mine > mine.txt
    verify: {checks: [{diff: {only: [began, mine.txt, \"out/**\"]}}]}
";
    let scratch = Scratch::new(&[("playbooks/p.yml", text), ("in.txt", "a\n")]);
    scratch.kb(&["playbook", "run", "p"]).code(0);
    for path in ["out/stored.txt", "began", "written.txt", "mine.txt"] {
        std::fs::remove_file(scratch.root().join(path)).unwrap();
    }
    scratch.kb(&["playbook", "run", "p"]).code(0).says(&["from the cache"]);
    assert_eq!(changed(&scratch, "beside"), ["began", "mine.txt"]);
}

/// A project whose only step works on a copy, and what another process that merges holds.
pub(crate) fn while_another_merges() -> (Scratch, std::fs::File) {
    let text = "schema: kb.playbook/1\nid: p\nsteps: [{id: own, workspace: copy, run: echo x > made.txt}]\n";
    let scratch = Scratch::new(&[("playbooks/p.yml", text)]);
    scratch.kb(&["playbook", "run", "p"]).code(0);
    std::fs::remove_file(scratch.root().join("made.txt")).unwrap();
    let state = scratch.root().parent().unwrap().join("state/kb");
    let trees = std::fs::read_dir(state).unwrap().flatten().map(|entry| entry.path());
    let trees = trees.into_iter().find(|path| path.to_string_lossy().ends_with(".trees"));
    let lock = std::fs::File::create(trees.expect("a folder of trees").join("merging")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    (scratch, lock)
}

/// A merge waits while another process merges into the project, and the step says what it does.
#[test]
fn a_step_that_merges_says_so() {
    let (scratch, lock) = while_another_merges();
    let mut command = scratch.command();
    command.args(["playbook", "run", "p"]).stdin(Stdio::null());
    let run = command.stdout(Stdio::null()).stderr(Stdio::null()).start();
    let begun = Instant::now();
    while !scratch
        .kb(&["run", "show", "@last"])
        .out
        .contains("merging its changes into the project")
    {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "{:?}",
            scratch.kb(&["run", "show", "@last"])
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(!scratch.has("made.txt"));
    drop(lock);
    assert_eq!(run.finish().status.code(), Some(0));
    assert_eq!(scratch.read("made.txt"), "x\n");
}
