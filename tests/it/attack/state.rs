//! Changes of the state folder while `kb` uses it: the journal removed, moved or replaced, and files in
//! it that are none.

use crate::scratch::Scratch;

const PLAYBOOK: &str = "schema: kb.playbook/1
id: p
steps:
  - {id: change, run: bash change.sh}
  - {id: next, dependsOn: change, run: 'touch next'}
  - {id: last, dependsOn: next, run: 'touch last'}
";

/// What a step does in the state folder.
const CHANGES: &[(&str, &str)] = &[
    ("removes the state folder", "rm -rf \"$PWD\""),
    ("moves the state folder", "mv \"$PWD\" \"$PWD\"-moved"),
    ("replaces the state folder by a copy", "mv \"$PWD\" ../old && cp -r ../old \"$PWD\""),
    ("removes the database", "rm journal.sqlite3"),
    ("removes the WAL", "rm journal.sqlite3-wal"),
    ("replaces the database by a copy", "cp journal.sqlite3 j && mv j journal.sqlite3"),
    ("replaces the WAL by an empty file", "touch w && mv w journal.sqlite3-wal"),
];

/// No run succeeds whose record is lost: it stops at the next event.
#[test]
fn a_run_whose_journal_is_removed_or_replaced_stops() {
    for (name, change) in CHANGES {
        let change = format!("set -e; cd ../state/kb/*/; {change}");
        let scratch = Scratch::new(&[(".kb/playbooks/p.yml", PLAYBOOK), ("change.sh", &change)]);
        let run = scratch.kb(&["playbook", "run", "p"]).code(5);
        let run = run.says(&["KB0801", "removed or replaced during the run", "start a new run"]);
        assert!(!run.out.contains("p succeeded"), "{name}: {run:?}");
        assert!(!scratch.has("next") && !scratch.has("last"), "{name}: {run:?}");
    }
}

/// Other commands of `kb` do not replace the files of a journal that a run uses.
#[test]
fn a_run_goes_on_while_other_commands_use_its_journal() {
    let kb = env!("CARGO_BIN_EXE_kb");
    let others = ["run list", "run prune --older-than 0s --keep 0", "doctor", "playbook run q"];
    let others = others.map(|args| format!("{kb} {args}\n")).concat();
    let others = format!("export XDG_STATE_HOME=$(realpath ../state)\n{others}exit 0\n");
    let other = "schema: kb.playbook/1\nid: q\nsteps: [{id: a, run: 'true'}]\n";
    let files =
        [(".kb/playbooks/p.yml", PLAYBOOK), (".kb/playbooks/q.yml", other), ("change.sh", &others)];
    let scratch = Scratch::new(&files);
    scratch.kb(&["playbook", "run", "q"]).code(0);
    let run = scratch.kb(&["playbook", "run", "p"]).code(0).says(&["p succeeded", "q succeeded"]);
    assert!(run.err.contains("removed 1 run"), "{run:?}");
    for run in scratch.json(&["run", "list", "--json"]).as_array().unwrap() {
        scratch.kb(&["run", "verify", run["run"].as_str().unwrap()]).code(0);
    }
}
