//! Changes of the state folder while `kb` uses it: the journal removed, moved or replaced, and files in
//! it that are none.

use crate::running::Start;
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

/// A pipe, a device or a folder in the place of a file is reported; nothing waits for it.
#[test]
fn what_is_no_file_in_the_state_folder_is_reported() {
    let steps = "steps: [{id: a, run: 'seq 20000'}]\n";
    let scratch =
        Scratch::new(&[("playbooks/p.yml", &format!("schema: kb.playbook/1\nid: p\n{steps}"))]);
    scratch.kb(&["playbook", "run", "p"]).code(0);
    let projects = scratch.root().parent().unwrap().join("state/kb");
    let state = std::fs::read_dir(&projects).unwrap().next().unwrap().unwrap().path();
    let blob = std::fs::read_dir(state.join("blobs")).unwrap().next().unwrap().unwrap().path();
    let blob = std::fs::read_dir(blob).unwrap().next().unwrap().unwrap().path();
    let sh = |script: &str, path: &std::path::Path| {
        let args = ["-ec", script, "sh"];
        let done = std::process::Command::new("sh").args(args).arg(path).finish().status;
        assert!(done.success(), "{script}");
    };
    let verify = ["run", "verify", "@last"];
    for make in ["mkfifo \"$1\"", "ln -s /dev/zero \"$1\"", "mkdir \"$1\"", "truncate -s 2G \"$1\""]
    {
        sh(&format!("mv \"$1\" \"$1.kept\"; {make}"), &blob);
        scratch.kb(&verify).code(1).says(&["KB0862", "is damaged"]);
        sh("rm -r \"$1\"; mv \"$1.kept\" \"$1\"", &blob);
    }
    for name in
        ["journal.sqlite3", "journal.sqlite3-journal", "journal.sqlite3-wal", "locks/.create"]
    {
        for make in ["mkfifo \"$1\"", "ln -s /dev/zero \"$1\""] {
            sh(&format!("test ! -e \"$1\" || mv \"$1\" \"$1.kept\"; {make}"), &state.join(name));
            for args in [&verify[..], &["run", "list"], &["playbook", "run", "p"]] {
                scratch.kb(args).code(5).says(&["KB0801", "is not a file"]);
            }
            let back = "rm \"$1\"; test ! -e \"$1.kept\" || mv \"$1.kept\" \"$1\"";
            sh(back, &state.join(name));
        }
    }
    sh("rm \"$1\"; mkfifo \"$1\"", &state.join("blobs.lock"));
    scratch.kb(&["playbook", "run", "p"]).code(5).says(&["blobs.lock"]);
    scratch.kb(&verify).code(0);
}

/// Git waits at a pipe for another program; `kb` does not start it there.
#[test]
fn a_pipe_in_a_repository_holds_nothing_up() {
    for name in ["HEAD", "config", "commondir"] {
        let head = ("sub/.git/HEAD", "ref: refs/heads/main\n");
        let files = [head, ("sub/.git/objects/x", ""), ("sub/.git/refs/x", "")];
        let scratch = Scratch::new(&files);
        let pipe = scratch.root().join("sub/.git").join(name);
        let _ = std::fs::remove_file(&pipe);
        assert!(std::process::Command::new("mkfifo").arg(&pipe).finish().status.success());
        let began = std::time::Instant::now();
        scratch.kb(&["doctor"]);
        assert!(began.elapsed().as_secs() < 10, "{name}: {:?}", began.elapsed());
    }
}

/// Names of fields and kinds in the records of a gate, as values of secrets.
const NAMES: [&str; 14] = [
    "criteria",
    "testCommands",
    "expectChanges",
    "location",
    "minCount",
    "pattern-",
    "lastWords",
    "durationMs",
    "toolCalls",
    "allClaims",
    "sandboxed",
    "impossible",
    "occurrences",
    "envHash-",
];

#[test]
fn a_secret_with_the_name_of_a_field_does_not_break_verification() {
    let playbook = "schema: kb.playbook/1
id: p
steps:
  - id: a
    run: 'echo made > made.txt'
    verify:
      checks:
        - {file: {path: 'm*.txt', count: {pattern: 'criteria|made', min: 1}}}
        - {command: [echo, toolCalls]}
        - {expr: \"'criteria' != ''\"}
      claims: strict
";
    let secrets: String =
        NAMES.iter().enumerate().map(|(n, _)| format!("  S{n}: 'env:SECRET_{n}'\n")).collect();
    let scratch = Scratch::new(&[
        ("playbooks/p.yml", playbook),
        (".kb/kb.config.yml", &format!("secrets:\n{secrets}")),
    ]);
    let secrets = |kb: &mut std::process::Command| {
        NAMES.iter().enumerate().for_each(|(n, name)| _ = kb.env(format!("SECRET_{n}"), name));
    };
    scratch.kb_with(&["playbook", "run", "p"], secrets).code(0).says(&["a passed"]);
    scratch.kb(&["run", "verify", "@last"]).code(0).says(&["verdicts  1"]);
    scratch.kb_with(&["run", "verify", "@last"], secrets).code(0).says(&["verdicts  1"]);
}

/// The runs of a project are found again after its folder was moved.
#[test]
fn a_moved_project_takes_its_runs_with_it() {
    let playbook = "schema: kb.playbook/1\nid: p\nsteps: [{id: a, run: 'seq 20000'}, {id: ok, dependsOn: a, approve: 'Go?'}]\n";
    let scratch = Scratch::new(&[("playbooks/p.yml", playbook)]);
    scratch.kb(&["playbook", "run", "p"]).code(3);
    let (old, new) = (scratch.root(), scratch.root().with_file_name("renamed"));
    scratch.kb(&["doctor", "--adopt", "."]).code(2).says(&["KB0856", "still contains a project"]);
    std::fs::rename(&old, &new).unwrap();
    let kb = |args: &[&str]| {
        // The working directory of the call must exist.
        std::fs::create_dir_all(&old).unwrap();
        let args: Vec<&str> = [args, &["-C", new.to_str().unwrap()]].concat();
        let said = scratch.kb(&args);
        std::fs::remove_dir_all(&old).unwrap();
        said
    };
    assert_eq!(kb(&["doctor"]).out.matches("opens, 0 runs").count(), 1);
    kb(&["doctor", "--adopt", "../nowhere"]).code(2).says(&["no runs are recorded"]);
    let adopted = kb(&["doctor", "--adopt", "../project"]);
    adopted.says(&["adopted 1 run of", "opens, 1 run"]);
    kb(&["run", "verify", "@last"]).code(0);
    kb(&["run", "approve", "@last"]).code(0);
    kb(&["doctor", "--adopt", "../project"]).code(2).says(&["no runs are recorded"]);
}
