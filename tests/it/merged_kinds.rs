//! Merges of steps in worktrees and copies that change what a path is: a folder becomes a file, a file a folder
//! or a link, and folders come and go.

use crate::isolation::git;
use crate::running::Start;
use crate::scratch::Scratch;
use std::path::Path;
use std::process::Stdio;

/// The project of each test, with a playbook whose step `e` executes a command.
fn project(keys: &str, command: &str) -> Scratch {
    let text = format!(
        "schema: kb.playbook/1\nid: p\nsteps:\n  - id: e\n{keys}    run: |\n      {command}\n"
    );
    let scratch = Scratch::new(&[
        ("playbooks/p.yml", &text),
        ("folder/a", "a\n"),
        ("folder/deep/b", "b\n"),
        ("file", "f\n"),
        ("left/x", "x\n"),
        ("target/y", "y\n"),
        ("emptied/z", "z\n"),
        (".gitignore", "*.log\n"),
    ]);
    for (link, to) in [("link", "target"), ("short", "file")] {
        std::os::unix::fs::symlink(to, scratch.root().join(link)).unwrap();
    }
    std::fs::create_dir_all(scratch.root().join("hollow/deep")).unwrap();
    git(&scratch, &["init", "-q", "-b", "main", "."]);
    git(&scratch, &["config", "user.name", "Somebody"]);
    git(&scratch, &["config", "user.email", "somebody@example.com"]);
    git(&scratch, &["add", "-A"]);
    git(&scratch, &["commit", "-q", "-m", "first"]);
    scratch
}

const COMMAND: &str = "rm -r folder left link hollow && echo now > folder && rm file && mkdir -p file/deep \
    && echo g > file/deep/g && ln -s target left && mkdir link && echo l > link/y && rm short && echo s > short \
    && mkdir -p made/deep && rm emptied/z";

/// What the command makes of the project.
const RESULT: [&str; 11] = [
    "emptied/",
    "file/",
    "file/deep/",
    "file/deep/g = g\n",
    "folder = now\n",
    "left -> target",
    "link/",
    "link/y = l\n",
    "made/",
    "made/deep/",
    "short = s\n",
];

/// All paths below a folder with what they are, without those of the repository, the playbook and `target`.
fn listed(folder: &Path) -> Vec<String> {
    fn below(root: &Path, folder: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            let name = path.strip_prefix(root).unwrap().display().to_string();
            if [".git", ".gitignore", "target", "playbooks", ".kb"].contains(&name.as_str()) {
                continue;
            }
            let kind = entry.file_type().unwrap();
            if kind.is_symlink() {
                found.push(format!("{name} -> {}", std::fs::read_link(&path).unwrap().display()));
            } else if kind.is_dir() {
                found.push(format!("{name}/"));
                below(root, &path, found);
            } else {
                found.push(format!("{name} = {}", std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    let mut found = Vec::new();
    below(folder, folder, &mut found);
    found.sort();
    found
}

const WAYS: [&str; 3] = [
    "    workspace: copy\n",
    "    workspace: worktree\n",
    "    workspace: worktree\n    merge: rebase\n",
];

/// In all ways, and a gate that sees a folder sees what the project gets.
#[test]
fn what_becomes_another_kind_is_merged_and_so_are_folders() {
    for keys in WAYS {
        let checks = "    verify: {checks: [{file: {path: made/deep}}, {file: {path: folder}}]}\n";
        let scratch = project(&format!("{keys}{checks}"), COMMAND);
        scratch.kb(&["playbook", "run", "p"]).code(0);
        assert_eq!(listed(&scratch.root()), RESULT, "{keys}");
        scratch.kb(&["run", "events", "@last"]).says(&["\"made/deep/\"", "\"hollow/\""]);
        let status = git(&scratch, &["status", "--porcelain"]);
        assert_eq!(status.is_empty(), keys.contains("rebase"), "{keys}{status}");
    }
}

/// A step finds the empty folders of the project.
#[test]
fn empty_folders_are_part_of_a_worktree_and_of_a_copy() {
    for keys in WAYS {
        let scratch = project(keys, "echo x > hollow/deep/x");
        scratch.kb(&["playbook", "run", "p"]).code(0);
        assert_eq!(scratch.read("hollow/deep/x"), "x\n", "{keys}");
    }
}

/// A folder that became a file is not replaced while the project has something else in it.
#[test]
fn a_folder_with_ignored_files_is_not_replaced() {
    let scratch = project(WAYS[0], "rm -r folder && echo now > folder");
    scratch.write("folder/kept.log", "kept\n");
    let said = scratch.kb(&["playbook", "run", "p"]).code(1);
    said.says(&["replaced the folder `folder`, in which the project has `folder/kept.log`"]);
    assert_eq!(scratch.read("folder/a") + &scratch.read("folder/kept.log"), "a\nkept\n");
}

/// `kb` is killed in the middle of a merge, and what is left conflicts with an edit: the message says what is in
/// the project, and what the next attempt starts with.
#[test]
fn a_conflict_after_an_interrupted_merge_says_what_was_merged() {
    let count = 40;
    let name = |number: usize| format!("f{number:02}.txt");
    for _ in 0..12 {
        let scratch = project(WAYS[0], "for f in f*.txt; do echo new $f > $f; done");
        for number in 0..count {
            scratch.write(&name(number), "old\n");
        }
        let mut command = scratch.command();
        command.args(["playbook", "run", "p"]).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.start();
        while child.try_wait().unwrap().is_none() && scratch.read("f00.txt") == "old\n" {}
        child.kill().unwrap();
        child.wait().unwrap();
        let merged = || (0..count).filter(|n| scratch.read(&name(*n)).starts_with("new")).count();
        let before = merged();
        if !(1..count).contains(&before) {
            continue;
        }
        scratch.write(&name(count - 1), "edited\n");
        let said = scratch.kb(&["run", "resume", "@last"]).code(1);
        assert_eq!(merged(), before, "{said:?}");
        let extent = format!(
            "{before} of 40 changes of `e` were merged before the merge was interrupted: `f00.txt`"
        );
        said.says(&[&extent, "the others were not", "which has these"]);
        let events = scratch.kb(&["run", "events", "@last", "--json"]).out;
        let event = events.lines().find(|line| line.contains("step:merged")).unwrap();
        let event: serde_json::Value = serde_json::from_str(event).unwrap();
        assert_eq!(event["trees"][0]["files"].as_array().unwrap().len(), before, "{event}");
        scratch.kb(&["run", "retry", "@last"]).code(0);
        assert_eq!(merged(), count);
        return;
    }
    panic!("no kill was inside the merge");
}
