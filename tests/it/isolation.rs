//! `workspace: worktree` and `workspace: copy`: files of their own for steps, and their way back.

use crate::disk::{Deed, Fault, Op, read_log};
use crate::running::Start;
use crate::scratch::{Said, Scratch};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Stdio;

/// Stands for a folder outside of the project.
const SHARED: &str = "OUTSIDE";

/// A project with one commit.
fn repository(playbook: &str) -> Scratch {
    let scratch = project(playbook);
    git(&scratch, &["init", "-q", "-b", "main", "."]);
    git(&scratch, &["config", "user.name", "Somebody"]);
    git(&scratch, &["config", "user.email", "somebody@example.com"]);
    git(&scratch, &["add", "-A"]);
    git(&scratch, &["commit", "-q", "-m", "first"]);
    scratch
}

fn project(playbook: &str) -> Scratch {
    let text = format!("schema: kb.playbook/1\nid: p\n{playbook}");
    Scratch::new(&[
        ("playbooks/p.yml", &text),
        ("lines.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n"),
        (".gitignore", "target/\n"),
        ("target/built", "binary\n"),
    ])
}

pub(crate) fn git(scratch: &Scratch, args: &[&str]) -> String {
    let mut command = std::process::Command::new("git");
    command.args(args).current_dir(scratch.root());
    for name in ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"] {
        command.env(name, "/dev/null");
    }
    let output = command.finish();
    assert!(output.status.success(), "git {args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn run(scratch: &Scratch) -> Said {
    scratch.kb(&["playbook", "run", "p"])
}

/// The folder of all trees of the project.
fn home(scratch: &Scratch) -> Option<PathBuf> {
    let state = scratch.root().parent().unwrap().join("state/kb");
    let folders = std::fs::read_dir(state).ok()?;
    let mut paths = folders.flatten().map(|entry| entry.path());
    paths.find(|path| path.to_string_lossy().ends_with(".trees"))
}

/// Whether nothing is left of any tree.
fn is_clean(scratch: &Scratch) -> bool {
    let left = home(scratch).map_or(0, |home| {
        let entries = std::fs::read_dir(home).unwrap().flatten();
        entries.filter(|entry| entry.path().is_dir()).count()
    });
    let listed = if scratch.has(".git") {
        git(scratch, &["worktree", "list", "--porcelain"]).matches("worktree ").count()
    } else {
        1
    };
    if left > 0 {
        let list = std::process::Command::new("find").arg(home(scratch).unwrap()).finish();
        eprintln!("{}", String::from_utf8_lossy(&list.stdout));
    }
    left == 0 && listed == 1
}

fn shown(scratch: &Scratch) -> Value {
    let said = scratch.kb(&["run", "show", "@last", "--json"]);
    serde_json::from_str(&said.out).unwrap_or_else(|error| panic!("{error}: {said:?}"))
}

/// The changes of each item to its line, made side by side.
const ITEMS: &str = "steps:
  - id: edit
    forEach: {in: [1, 5, 9], as: n, maxParallel: 3}
    workspace: worktree
    run: sed -i \"s/^$N$/line $N/\" lines.txt && echo $N > new-$N && ls target && git log -1 --format=%s
    onError: continue
    env: {N: \"{{n}}\"}
";

#[test]
fn the_changes_of_worktrees_are_combined_and_nothing_is_left() {
    let scratch = repository(&ITEMS.replace("ls target", "! ls target"));
    // Changes that are not committed are part of a worktree.
    scratch.write("lines.txt", "1\n2\n3\nfour\n5\n6\n7\n8\n9\n");
    scratch.write("untracked", "x\n");
    let said = run(&scratch);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(scratch.read("lines.txt"), "line 1\n2\n3\nfour\nline 5\n6\n7\n8\nline 9\n");
    assert_eq!(scratch.read("new-5"), "5\n");
    assert_eq!(git(&scratch, &["log", "--format=%s"]), "first\n");
    let events = scratch.kb(&["run", "events", "@last", "--json"]).out;
    let merged = events.lines().find(|line| line.contains("step:merged")).expect(&events);
    let merged: Value = serde_json::from_str(merged).unwrap();
    let names: Vec<_> =
        merged["trees"].as_array().unwrap().iter().map(|t| &t["instance"]).collect();
    assert_eq!(names, ["edit[0]", "edit[1]", "edit[2]"], "in item order");
    assert!(is_clean(&scratch));
}

#[test]
fn a_conflict_keeps_both_sides_and_its_commands_work() {
    let scratch = repository(
        "steps:
  - id: edit
    forEach: {in: [a, b], as: n, key: \"{{n}}\"}
    workspace: worktree
    run: sed -i \"s/^5$/$N/\" lines.txt
    env: {N: \"{{n}}\"}
  - {id: after, dependsOn: [edit], run: cat lines.txt}
",
    );
    let said = run(&scratch);
    assert_eq!(said.code, 1, "{said:?}");
    assert_eq!(
        scratch.read("lines.txt"),
        "1\n2\n3\n4\na\n6\n7\n8\n9\n",
        "the first item is merged"
    );
    let view = shown(&scratch);
    let step = view["steps"].as_array().unwrap().iter().find(|s| s["instance"] == "edit").unwrap();
    assert_eq!(step["error"]["code"], "KB0589", "{view}");
    let tree = PathBuf::from(view["trees"][0]["path"].as_str().unwrap());
    assert_eq!(view["trees"][0]["instance"], "edit[b]");
    assert!(std::fs::read_to_string(tree.join("lines.txt")).unwrap().contains("\nb\n"));
    // The command of the help writes both sides into the file.
    let help = step["error"]["help"].as_str().unwrap();
    let command = help.split('`').find(|part| part.starts_with("git merge-file")).expect(help);
    let mut by_hand = std::process::Command::new("sh");
    let status = by_hand.args(["-c", command]).current_dir(scratch.root()).finish().status;
    assert_eq!(status.code(), Some(1), "one conflict");
    assert!(scratch.read("lines.txt").contains("<<<<<<<"), "{}", scratch.read("lines.txt"));
    // Another run leaves the tree of the failed one alone; a retry runs on the present project.
    scratch.write("lines.txt", "1\n5\n");
    assert_eq!(scratch.kb(&["playbook", "list"]).code, 0);
    assert!(tree.is_dir());
    let again = scratch.kb(&["run", "retry", "@last", "--from", "edit"]);
    assert_eq!(again.code, 1, "the items still contradict each other: {again:?}");
    assert!(!is_clean(&scratch));
    let pruned = scratch.kb(&["run", "prune", "--keep", "0", "--older-than", "0s"]);
    assert_eq!(pruned.code, 0, "{pruned:?}");
    assert!(is_clean(&scratch));
}

#[test]
fn a_copy_needs_no_repository_and_has_ignored_files() {
    let scratch = project(
        "steps:
  - id: a
    workspace: copy
    run: cat target/built && rm lines.txt && mkdir d && echo x > d/x && chmod +x d/x && echo y > target/y && ln -s d/x link
",
    );
    let said = run(&scratch);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(!scratch.has("lines.txt") && scratch.has("link"));
    assert!(!scratch.has("target/y"), "ignored files are not merged");
    let mode = std::fs::metadata(scratch.root().join("d/x")).unwrap();
    assert!(std::os::unix::fs::PermissionsExt::mode(&mode.permissions()) & 0o100 != 0);
    assert!(is_clean(&scratch));
}

#[test]
fn commits_are_rebased_in_item_order() {
    let scratch = repository(
        "steps:
  - id: edit
    forEach: {in: [1, 5, 9], as: n, maxParallel: 3}
    workspace: worktree
    merge: rebase
    run: |
      sed -i \"s/^$N$/line $N/\" lines.txt
      if [ $N = 5 ]; then git commit -qam 'by the step'; touch rest; fi
    env: {N: \"{{n}}\"}
",
    );
    let said = run(&scratch);
    assert_eq!(said.code, 0, "{said:?}");
    let log = git(&scratch, &["log", "--format=%s by %an", "--reverse"]);
    let expected = ["first", "edit[0]", "by the step", "edit[1]", "edit[2]"];
    let expected: String = expected.iter().map(|s| format!("{s} by Somebody\n")).collect();
    assert_eq!(log, expected);
    assert_eq!(git(&scratch, &["status", "--porcelain"]), "", "files and index fit the branch");
    assert_eq!(scratch.read("lines.txt"), "line 1\n2\n3\n4\nline 5\n6\n7\n8\nline 9\n");
    assert!(is_clean(&scratch));
}

#[test]
fn with_none_the_changes_stay_in_the_worktree() {
    let scratch =
        repository("steps: [{id: a, workspace: worktree, merge: none, run: echo x > new}]\n");
    assert_eq!(run(&scratch).code, 0);
    assert!(!scratch.has("new"));
    let path = shown(&scratch)["trees"][0]["path"].as_str().unwrap().to_owned();
    assert_eq!(std::fs::read_to_string(format!("{path}/new")).unwrap(), "x\n");
    assert_eq!(run(&scratch).code, 0);
    assert!(PathBuf::from(path).is_dir(), "a later run leaves it alone");
}

#[test]
fn a_worktree_that_cannot_be_made_says_why_and_what_helps() {
    let playbook = "steps: [{id: a, workspace: worktree, merge: rebase, run: 'true'}]\n";
    let refused = |scratch: &Scratch, message: &str, help: &str| {
        let said = run(scratch);
        assert_eq!(said.code, 1, "{said:?}");
        let view = shown(scratch);
        let error = &view["steps"][0]["error"];
        assert_eq!(error["code"], "KB0588", "{view}");
        let place = view["steps"][0]["place"].as_str().unwrap_or_default();
        assert!(place.contains(".yml:") && said.out.contains(place), "{said:?}");
        let texts = [&error["message"], &error["help"]].map(|text| text.as_str().unwrap_or(""));
        assert!(texts[0].contains(message) && texts[1].contains(help), "{error}");
        assert!(is_clean(scratch));
    };
    let scratch = project(playbook);
    refused(&scratch, "not a git repository", "workspace: copy");
    git(&scratch, &["init", "-q", "."]);
    refused(&scratch, "no commit yet", "git commit");
    let scratch = repository(playbook);
    scratch.write("lines.txt", "changed\n");
    refused(&scratch, "`lines.txt` has changes that are not committed", "git stash");
    let scratch = repository(playbook);
    scratch.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    refused(&scratch, "filter=lfs", "merge: patch");
    let scratch = repository(playbook);
    scratch.write(".gitmodules", "[submodule \"x\"]\n");
    refused(&scratch, "submodules", "workspace: copy");
    let scratch = project(playbook);
    let above = scratch.root().parent().unwrap().to_owned();
    let mut init = std::process::Command::new("git");
    assert!(init.args(["init", "-q", "."]).current_dir(above).finish().status.success());
    refused(&scratch, "not its root", "workspace: copy");
}

#[test]
fn nothing_of_the_configuration_of_a_repository_is_executed() {
    let scratch = repository(
        "steps: [{id: a, workspace: worktree, merge: rebase, run: echo x > lines.txt}]\n",
    );
    let mark = scratch.root().parent().unwrap().join("executed");
    let script = format!("#!/bin/sh\necho \"$0\" >> {}\ncat\n", mark.display());
    let names = [
        "pre-commit",
        "post-checkout",
        "post-commit",
        "pre-rebase",
        "reference-transaction",
        "post-index-change",
        "prepare-commit-msg",
        "post-rewrite",
    ];
    for name in names {
        scratch.write(&format!(".git/hooks/{name}"), &script);
        let path = scratch.root().join(format!(".git/hooks/{name}"));
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(path, mode).unwrap();
    }
    let hook = scratch.root().join(".git/hooks/pre-commit").display().to_string();
    for key in [
        "core.fsmonitor",
        "filter.x.clean",
        "filter.x.smudge",
        "filter.x.process",
        "core.editor",
        "gpg.program",
        "diff.x.textconv",
        "diff.external",
        "merge.x.driver",
    ] {
        git(&scratch, &["config", key, &hook]);
    }
    git(&scratch, &["config", "diff.trustExitCode", "true"]);
    git(&scratch, &["config", "commit.gpgSign", "true"]);
    git(&scratch, &["config", "filter.x.required", "true"]);
    std::fs::write(scratch.root().join(".git/info/attributes"), "* filter=x diff=x merge=x\n")
        .unwrap();
    let said = run(&scratch);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(!mark.exists(), "{}", std::fs::read_to_string(&mark).unwrap());
    assert_eq!(scratch.read("lines.txt"), "x\n");
}

/// Two writers side by side: their claims and changes are those of their worktrees.
#[test]
fn specialists_work_side_by_side_and_their_claims_hold() {
    let scratch = repository(
        "steps:
  - id: write
    forEach: {in: [one, two], as: n, key: \"{{n}}\", maxParallel: 2}
    specialist: writer
    task: \"write {{n}}\"
    workspace: worktree
    output: {schema: {created: \"string[]\", summary: string}}
    verify: {checks: [{file: {path: \"{{n}}.txt\"}}, {command: [\"test\", \"-e\", \"lines.txt\"]}, {diff: {maxFiles: 1}}]}
",
    );
    scratch.write(
        ".kb/specialists/writer.yml",
        "schema: kb.specialist/1\nid: writer\nrole: You write.\ntools: [fs:write]\n",
    );
    let turns = |name: &str, path: &str| {
        format!(
            "  write[{name}]:\n    - calls: [{{tool: fs:write, args: {{path: {name}.txt, content: x}}}}]\n    \
             - output: {{created: [{path}], summary: done}}\n"
        )
    };
    let script = format!("schema: kb.script/1\nsteps:\n{}", turns("one", "one.txt"));
    scratch.write("script.yml", &format!("{script}{}", turns("two", "two.txt")));
    let said = scratch.kb(&["playbook", "run", "p", "--script", "script.yml"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(scratch.has("one.txt") && scratch.has("two.txt"));
    let diff = scratch.kb(&["run", "diff", "@last"]);
    assert!(diff.out.contains("one.txt") && !diff.out.contains("state"), "{diff:?}");
    assert!(is_clean(&scratch));
    // A file that only the other one has written is a lie.
    std::fs::remove_file(scratch.root().join("one.txt")).unwrap();
    std::fs::remove_file(scratch.root().join("two.txt")).unwrap();
    let lie = turns("two", "one.txt");
    scratch.write("script.yml", &format!("{script}{lie}"));
    let said = scratch.kb(&["playbook", "run", "p", "--script", "script.yml"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(!scratch.has("one.txt") && !scratch.has("two.txt"), "a failed step merges nothing");
}

/// The steps of a child run share the worktree of the step that calls it.
#[test]
fn a_child_run_has_the_worktree_of_its_step() {
    let scratch = repository(
        "steps: [{id: call, playbook: child, workspace: worktree}, {id: after, dependsOn: [call], run: cat a b}]\n",
    );
    scratch.write(
        "playbooks/child.yml",
        "schema: kb.playbook/1\nid: child\nsteps: [{id: a, run: pwd > a}, {id: b, dependsOn: [a], run: pwd > b}]\n",
    );
    assert_eq!(run(&scratch).code, 0);
    assert!(scratch.read("a").contains(".trees/") && scratch.read("a") == scratch.read("b"));
    assert!(is_clean(&scratch));
}

/// The final files, commits and status of a project, and whether nothing is left of a tree.
fn product(scratch: &Scratch) -> (String, String, String, bool) {
    let lines = format!("{}{}", scratch.read("lines.txt"), scratch.read("new-5"));
    let log = git(scratch, &["log", "--format=%s", "--reverse"]);
    // A `sed` that was killed leaves its temporary file.
    let status = git(scratch, &["status", "--porcelain"]);
    let lasting = |line: &&str| !line.starts_with("?? sed");
    let status = status.lines().filter(lasting).collect::<Vec<_>>().join("\n");
    (lines, log, status, is_clean(scratch))
}

/// `kb` is killed before and after changes of files that are spread over the whole run: while a tree is
/// made, in the step, while changes are merged, and at the end.
fn killed_anywhere(merge: &str) {
    let playbook = format!("{ITEMS}    merge: {merge}\n").replace("ls target", "! ls target");
    let scratch = repository(&playbook);
    let folder = |scratch: &Scratch| scratch.root().parent().unwrap().to_owned();
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut command = scratch.command();
    command.args(["playbook", "run", "p"]);
    Fault::below(&folder(&scratch)).log(log.path()).on(&mut command);
    assert!(command.finish().status.success());
    let usual = product(&scratch);
    assert!(usual.3, "{usual:?}");
    let counts = |op: &Op| !matches!(op, Op::Synced | Op::Unsynced);
    let changes = read_log(log.path()).iter().filter(|record| counts(&record.op)).count();
    let wanted = crate::proof::amount("KB_TREE_POINTS", 12, changes).clamp(1, changes);
    for number in 0..wanted {
        let point = 1 + number * changes / wanted;
        let deed = if number % 2 == 0 { Deed::KillBefore } else { Deed::KillAfter };
        let scratch = repository(&playbook);
        let mut command = scratch.command();
        command.args(["playbook", "run", "p"]);
        Fault::below(&folder(&scratch)).at(point, deed).on(&mut command);
        let mut ended = command.finish().status.success();
        for _ in 0..3 {
            if ended {
                break;
            }
            let listed = scratch.kb(&["run", "list", "--json"]).out;
            let runs: Value = serde_json::from_str(&listed).unwrap_or_default();
            let arguments: &[&str] = if runs.as_array().is_none_or(Vec::is_empty) {
                &["playbook", "run", "p"]
            } else {
                &["run", "resume", "@last"]
            };
            let said = scratch.kb(arguments);
            // A run whose last event was stored before the kill cannot be resumed.
            ended = said.code == 0 || said.err.contains("has succeeded");
            assert!(ended, "point {point} of {changes}: {said:?}");
        }
        // What a kill at the very end left is removed by the next `kb`.
        if !is_clean(&scratch) {
            scratch.kb(&["run", "prune", "--keep", "100"]);
        }
        assert_eq!(product(&scratch), usual, "point {point} of {changes}, {merge}");
    }
}

#[test]
fn kb_may_be_killed_anywhere_with_patches() {
    killed_anywhere("patch");
}

#[test]
fn kb_may_be_killed_anywhere_with_commits() {
    killed_anywhere("rebase");
}

/// A full disk while the tree is made fails the step with a clear message, and leaves nothing.
#[test]
fn a_full_disk_is_named_and_leaves_no_tree() {
    let scratch = project("steps: [{id: a, workspace: copy, run: 'true'}]\n");
    scratch.write("big.bin", &"x".repeat(300_000));
    let state = scratch.root().parent().unwrap().join("state/kb");
    std::fs::create_dir_all(&state).unwrap();
    assert_eq!(run(&scratch).code, 0);
    let trees = home(&scratch).unwrap();
    let mut command = scratch.command();
    command.args(["playbook", "run", "p"]);
    Fault::below(&trees).file("big.bin").at(2, Deed::Enospc).and_ever_after().on(&mut command);
    let output = command.finish();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let view = shown(&scratch);
    let error = view["steps"][0]["error"].to_string();
    assert!(error.contains("KB0588") && error.contains("No space left"), "{error}");
    assert!(is_clean(&scratch) || scratch.kb(&["run", "prune", "--keep", "9"]).code == 0);
    assert_eq!(run(&scratch).code, 0);
    assert!(is_clean(&scratch));
}

/// A full disk while changes are merged fails the step, keeps the files of the step, and the run
/// completes when there is room.
#[test]
fn a_full_disk_in_a_merge_keeps_the_files_of_the_step() {
    let playbook = "steps: [{id: a, workspace: copy, run: 'head -c 300000 /dev/zero > made.bin; echo x >> lines.txt'}]\n";
    let scratch = project(playbook);
    let mut command = scratch.command();
    command.args(["playbook", "run", "p"]);
    let full = Fault::below(&scratch.root()).ops("write");
    full.at(1, Deed::Enospc).and_ever_after().on(&mut command);
    let output = command.finish();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let view = shown(&scratch);
    let error = view["steps"][0]["error"].to_string();
    assert!(error.contains("No space left") || error.contains("disk is full"), "{error}");
    let kept = view["trees"][0]["path"].as_str().expect("the files are kept");
    assert_eq!(std::fs::metadata(format!("{kept}/made.bin")).unwrap().len(), 300_000);
    assert!(!scratch.has("made.bin"), "no half of a file");
    assert_eq!(scratch.kb(&["run", "retry", "@last"]).code, 0);
    assert_eq!(std::fs::metadata(scratch.root().join("made.bin")).unwrap().len(), 300_000);
}

/// `workspace` and `merge` of a playbook hold for every step that can have files of its own and sets
/// none.
#[test]
fn the_workspace_of_a_playbook_holds_for_its_steps() {
    let scratch = repository(
        "workspace: worktree\nmerge: none\nsteps:\n  - {id: name, set: {a: b}}\n  - {id: own, run: echo x > own}\n  - {id: here, workspace: shared, run: echo x > here}\n",
    );
    assert_eq!(run(&scratch).code, 0);
    assert!(scratch.has("here") && !scratch.has("own"));
    assert_eq!(shown(&scratch)["trees"][0]["instance"], "own");
    let scratch = repository("workspace: wortree\nsteps: [{id: a, run: 'true'}]\n");
    let said = scratch.kb(&["playbook", "validate", "p"]);
    assert!(said.code == 2 && said.err.contains("did you mean `worktree`"), "{said:?}");
}

/// The changes of items with files of their own reach the project when the step succeeds. A new run that
/// keeps the results of some of them would succeed without their changes.
#[test]
fn a_new_run_loses_no_change_of_items_whose_step_failed() {
    for more in ["", "    retry: {max: 1}\n"] {
        let scratch = project(
            "steps:
  - id: e
    forEach: {in: [a, b], as: n, key: \"{{n}}\"}
    workspace: copy
    run: echo $N > made-$N && { [ $N = a ] || test -e fixed; }
    env: {N: \"{{n}}\"}
",
        );
        assert_eq!(run(&scratch).code, 1);
        assert!(!scratch.has("made-a"), "nothing of a failed step is merged");
        scratch.write("fixed", "");
        let text = scratch.read("playbooks/p.yml");
        scratch.write("playbooks/p.yml", &format!("{text}{more}"));
        let said = scratch.kb(&["run", "retry", "@last", "--with-current"]).code(0);
        said.says(&["runs  e  its changes were not all merged in the earlier run"]);
        assert_eq!([scratch.read("made-a"), scratch.read("made-b")], ["a\n", "b\n"]);
        assert!(scratch.kb(&["run", "events", "@last"]).out.contains("\"made-a\""));
    }
}

/// An item that failed was tolerated. What the others changed is merged, and their copies are gone.
#[test]
fn a_tolerated_item_is_repeated_beside_those_that_are_merged() {
    let scratch = project(
        "steps:
  - id: e
    forEach: {in: [a, b], as: n, key: \"{{n}}\", onItemError: continue}
    workspace: copy
    run: echo $N > made-$N && { [ $N = a ] || test -e fixed; }
    env: {N: \"{{n}}\"}
",
    );
    run(&scratch).code(0);
    assert_eq!([scratch.has("made-a"), scratch.has("made-b")], [true, false]);
    scratch.write("fixed", "");
    scratch.write("made-a", "edited\n");
    scratch.kb(&["run", "retry", "@last", "--from", "e"]).code(0);
    assert_eq!([scratch.read("made-a"), scratch.read("made-b")], ["edited\n", "b\n"]);
}

/// `kb` is killed when it has planned a merge, and the project changes before the run goes on: the plan does
/// not fit any more.
#[test]
fn an_interrupted_merge_overwrites_no_later_edit() {
    let lines = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    for (edited, merged) in [
        (lines.replace('1', "one"), Some(lines.replace('1', "one").replace('5', "five"))),
        (lines.replace('5', "mine"), None),
    ] {
        let scratch =
            project("steps:\n  - {id: edit, workspace: copy, run: sed -i s/5/five/ lines.txt}\n");
        let mut command = scratch.command();
        command.args(["playbook", "run", "p"]);
        let folder = scratch.root().parent().unwrap().to_owned();
        let planned = Fault::below(&folder).ops("rename").file(".plan.");
        planned.at(1, Deed::KillAfter).on(&mut command);
        assert!(!command.finish().status.success(), "killed");
        assert_eq!(scratch.read("lines.txt"), lines, "nothing is written yet");
        scratch.write("lines.txt", &edited);
        let said = scratch.kb(&["run", "resume", "@last"]);
        assert_eq!(said.code, i32::from(merged.is_none()), "{said:?}");
        assert_eq!(scratch.read("lines.txt"), merged.unwrap_or(edited));
    }
}

/// A folder of trees that somebody removed: what its step changed is lost, and the run says so.
#[test]
fn a_removed_tree_is_never_merged_as_nothing() {
    let scratch = project(
        "steps:
  - id: e
    forEach: {in: [a, b], as: n, key: \"{{n}}\"}
    workspace: copy
    run: echo $N > made-$N && { [ $N = a ] || test -e fixed; }
    env: {N: \"{{n}}\"}
",
    );
    run(&scratch).code(1);
    std::fs::remove_dir_all(home(&scratch).unwrap()).unwrap();
    scratch.write("fixed", "");
    let said = scratch.kb(&["run", "retry", "@last"]).code(1);
    said.says(&["the files of `e[a]` do not exist any more", "--from e"]);
    scratch.kb(&["run", "retry", "@last", "--from", "e"]).code(0);
    assert_eq!([scratch.read("made-a"), scratch.read("made-b")], ["a\n", "b\n"]);
}

/// Whatever the order of kills, resumes, retries and new runs that continue earlier ones, also with stored
/// results: a run that succeeds has the changes of all of its items.
#[test]
fn a_run_that_succeeds_has_all_changes_in_every_order_of_interruptions() {
    for seed in 0..crate::proof::amount("KB_TREE_STORIES", 6, 1_000) as u64 {
        let (place, extra) =
            [("copy", ""), ("worktree", ""), ("copy", "    cache: {outputs: [\"made-*\"]}\n")]
                [seed as usize % 3];
        let scratch = repository(&format!(
            "steps:
  - id: e
    forEach: {{in: [a, b, c], as: n, key: \"{{{{n}}}}\"}}
    workspace: {place}
    run: sleep 0.0$(($RANDOM % 9)); echo $N > made-$N; test -e $FIXED/fixed-$N
    env: {{N: \"{{{{n}}}}\", FIXED: {}}}
{extra}  - {{id: last, dependsOn: [e], run: sleep 0.05}}
",
            SHARED
        ));
        let text = scratch.read("playbooks/p.yml");
        let fixed = tempfile::tempdir().unwrap();
        let folder = fixed.path().display().to_string();
        scratch.write("playbooks/p.yml", &text.replace(SHARED, &folder));
        let mut dice = crate::crash::dice::Dice::of(seed);
        let mut succeeded = false;
        for turn in 0..40 {
            if turn > 3 || dice.below(3) == 0 {
                let name = ["a", "b", "c"][dice.below(3) as usize];
                std::fs::write(fixed.path().join(format!("fixed-{name}")), "").unwrap();
            }
            let listed: Value = serde_json::from_str(&scratch.kb(&["run", "list", "--json"]).out)
                .unwrap_or_default();
            let status = listed[0]["status"].as_str().unwrap_or("none").to_owned();
            if status == "succeeded" {
                succeeded = true;
                break;
            }
            let ways: &[&[&str]] = match status.as_str() {
                "none" => &[&["playbook", "run", "p"]],
                "failed" | "cancelled" => &[
                    &["run", "retry", "@last"],
                    &["run", "retry", "@last", "--with-current"],
                    &["run", "retry", "@last", "--from", "e"],
                ],
                _ => &[&["run", "resume", "@last"], &["run", "retry", "@last", "--with-current"]],
            };
            let mut command = scratch.command();
            command.args(ways[dice.below(ways.len() as u64) as usize]);
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).start();
            if dice.below(2) == 0 {
                std::thread::sleep(std::time::Duration::from_millis(dice.below(250)));
                let _ = child.kill();
            }
            let _ = child.wait();
        }
        assert!(succeeded, "seed {seed}: {:?}", scratch.kb(&["run", "list"]));
        for name in ["a", "b", "c"] {
            assert!(scratch.has(&format!("made-{name}")), "seed {seed}: made-{name} is lost");
        }
    }
}

/// With `merge: none` the changes are in the folder of the earlier run, and no result is without them.
#[test]
fn items_that_merge_nothing_keep_their_results() {
    let scratch = project(
        "steps:
  - id: e
    forEach: {in: [a, b], as: n, key: \"{{n}}\"}
    workspace: copy
    merge: none
    run: echo $N > made-$N && { [ $N = a ] || test -e fixed; }
    env: {N: \"{{n}}\"}
",
    );
    assert_eq!(run(&scratch).code, 1);
    let view = shown(&scratch);
    let mut trees = view["trees"].as_array().unwrap().iter();
    let tree = trees.find(|tree| tree["instance"] == "e[a]").expect("the folder of e[a]");
    let tree = PathBuf::from(tree["path"].as_str().unwrap());
    scratch.write("fixed", "");
    let said = scratch.kb(&["run", "retry", "@last", "--with-current"]).code(0);
    said.says(&["kept  the items of e that succeeded"]);
    assert_eq!(std::fs::read_to_string(tree.join("made-a")).unwrap(), "a\n");
}

/// What git notes about the work tree of a step is no change by a command that runs beside it.
#[test]
fn a_worktree_comes_and_goes_beside_a_command_in_the_sandbox() {
    let scratch = repository(
        "limits: {maxParallel: 3}\nsteps:\n  \
         - {id: long, sandbox: always, run: 'touch began; until test -e go; do sleep 0.02; done'}\n  \
         - {id: first, run: 'until test -e began; do sleep 0.02; done'}\n  \
         - {id: tree, dependsOn: [first], workspace: worktree, run: 'echo x > made.txt'}\n  \
         - {id: end, dependsOn: [tree], run: 'touch go'}\n",
    );
    run(&scratch).code(0);
    assert_eq!(scratch.read("made.txt"), "x\n");
    assert!(is_clean(&scratch));
}
