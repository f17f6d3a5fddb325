//! What `sandbox` opens: neither the state of `kb`, nor repositories outside of the project, nor more of `.git` than its
//! data.

use crate::running::Start;
use crate::scratch::{Said, Scratch, has_kernel_sandbox};
use std::path::PathBuf;

fn home(scratch: &Scratch) -> PathBuf {
    scratch.root().parent().unwrap().join("home")
}

/// A project with one step, whose command a script prepares in the project and in the home folder.
fn project(prepare: &str, opening: &str, command: &str) -> Scratch {
    let steps = format!("  - {{id: a, sandbox: {opening}, run: '{command}'}}\n");
    let playbook = format!("schema: kb.playbook/1\nid: p\nsteps:\n{steps}");
    let scratch = Scratch::new(&[(".kb/playbooks/p.yml", &playbook)]);
    std::fs::create_dir_all(home(&scratch)).unwrap();
    let mut shell = std::process::Command::new("bash");
    shell.args(["-euc", prepare]).current_dir(scratch.root()).env("HOME", home(&scratch));
    assert!(shell.finish().status.success(), "{prepare}");
    scratch
}

fn run(scratch: &Scratch) -> Said {
    scratch.kb_with(&["playbook", "run", "p"], |kb| {
        let home = home(scratch);
        kb.env("HOME", &home).env("XDG_STATE_HOME", home.join("state"));
        kb.env("XDG_CONFIG_HOME", home.join("settings"));
    })
}

#[test]
fn an_opened_path_leaves_out_the_state_of_kb() {
    if !has_kernel_sandbox() {
        return;
    }
    for opening in ["{read: [~/]}", "{write: [~/state]}", "{write: [~/state/kb]}"] {
        let script = "find $HOME/state -type f | grep -q . && exit 7; touch $HOME/state/kb/x 2>/dev/null && exit 8; exit 0";
        let scratch = project("true", opening, script);
        let said = run(&scratch);
        assert_eq!(said.code, 0, "{opening}: {said:?}");
        assert!(!home(&scratch).join("state/kb/x").exists(), "{opening}: {said:?}");
    }
}

/// Repositories in it are read-only, with what their settings execute; what git of the user reads is not opened.
#[test]
fn an_opened_path_leaves_out_repositories() {
    if !has_kernel_sandbox() {
        return;
    }
    for (prepare, opening, path) in [
        ("git init -q --bare ~/srv/a/b.git", "~/srv", "srv/a/b.git/config"),
        ("git init -q ~/code/1/2/3/4/5/6/7/8/9", "~/code", "code/1/2/3/4/5/6/7/8/9/.git/config"),
        ("mkdir ~/gd; git init -q --separate-git-dir ~/gd/p .", "~/gd", "gd/p/config"),
        (
            "git init -q ~/o; mkdir ~/o/h; touch ~/o/h/x; git -C ~/o config core.hooksPath h",
            "~/o",
            "o/h/x",
        ),
        // What the settings of the project name there.
        (
            "git init -q; mkdir -p ~/sh/h; touch ~/sh/h/x; git config core.hooksPath ~/sh/h",
            "~/sh",
            "sh/h/x",
        ),
        ("git init -q; mkdir ~/sh; touch ~/sh/i; git config include.path ~/sh/i", "~/sh", "sh/i"),
        (
            "git init -q; mkdir -p ~/sh/h; touch ~/sh/h/x; rm -r .git/hooks; ln -s ~/sh/h .git/hooks",
            "~/sh",
            "sh/h/x",
        ),
    ] {
        let scratch = project(
            prepare,
            &format!("{{write: [{opening}]}}"),
            &format!("touch ~/{opening}/new; echo x >> ~/{path}").replace("~/~/", "~/"),
        );
        let said = run(&scratch);
        assert_eq!(said.code, 1, "{opening}: {said:?}");
        said.says(&["Read-only"]);
        assert!(
            home(&scratch).join(opening.trim_start_matches("~/")).join("new").exists(),
            "{opening}"
        );
    }
    for (opening, why) in [
        ("~/", "git reads its settings from"),
        ("~/.config", "git reads its settings from"),
        ("~/settings", "git reads its settings from"),
        ("~/o/.git/objects", "it belongs to the git repository"),
    ] {
        let opened = format!("{{write: [{opening}]}}");
        let scratch = project("git init -q ~/o; mkdir ~/.config ~/settings", &opened, "true");
        let said = run(&scratch);
        assert_eq!(said.code, 1, "{opening}: {said:?}");
        said.says(&["KB0601", why, "name the folder that the command needs"]);
    }
}

/// The data of the own repository, and nothing else in it.
#[test]
fn an_opened_git_folder_opens_its_data() {
    if !has_kernel_sandbox() {
        return;
    }
    let prepare = "git init -q; mkdir -p .git/modules/logs; cd .git/modules/logs; touch HEAD config; mkdir objects refs";
    let commit = "git add -A && git -c user.name=a -c user.email=a@b commit -qm x && git branch b && git gc -q && git tag t";
    let scratch = project(prepare, "{write: [.git]}", commit);
    run(&scratch).code(0);
    for (path, is_noticed) in [
        ("config", false),
        ("modules/logs/config", false),
        ("modules/logs/hooks/x", true),
        ("config.worktree", true),
        ("commondir", true),
        ("rebase-merge/git-rebase-todo", true),
        ("sequencer/todo", true),
        ("remotes/origin", true),
        ("unknown/x", true),
    ] {
        let write = format!("mkdir -p $(dirname .git/{path}); echo x >> .git/{path}");
        let said = run(&project(prepare, "{write: [.git]}", &write));
        assert_eq!(said.code, 1, "{path}: {said:?}");
        said.says(&[if is_noticed { "KB0606" } else { "Read-only" }]);
    }
}

/// A command in the sandbox makes no repository in the project, whatever its folders are called and however deep they
/// lie.
#[test]
fn a_repository_of_any_name_and_depth_is_noticed() {
    if !has_kernel_sandbox() {
        return;
    }
    for command in [
        "git init -q --bare sub/store",
        "mkdir -p sub/objects sub/refs; echo x > sub/HEAD",
        "git init -q $(printf d/%.0s $(seq 300))",
    ] {
        let said = run(&project("true", "always", command));
        assert_eq!(said.code, 1, "{command}: {said:?}");
        said.says(&["KB0606"]);
    }
    let said =
        run(&project("git init -q --bare sub/store", "always", "echo x >> sub/store/config"));
    said.code(1).says(&["Read-only"]);
    // In the data of the repository, and what looks like a work tree of a step.
    let tree =
        "cd .git; mkdir -p worktrees/x/hooks; cd worktrees/x; touch HEAD; echo ../.. > commondir";
    for command in [
        "git init -q .git/objects/a/b",
        "git init -q --bare .git/refs/a",
        "git init -q .git/logs/a",
        &format!("{tree}; echo $HOME/state/kb/../../x/.git > gitdir"),
        &format!("{tree}; echo $HOME/state/kb/x/.git > gitdir; touch config.worktree"),
        &format!("{tree}; echo $HOME/state/kb/x/.git > gitdir; touch hooks/pre-commit"),
        &format!("{tree}; echo $HOME/state/kb/x/.git > gitdir; echo /tmp > commondir"),
    ] {
        let said = run(&project("git init -q", "{write: [.git]}", command));
        assert_eq!(said.code, 1, "{command}: {said:?}");
        said.says(&["KB0606"]);
    }
}
