//! What settings of git name is protected, wherever git finds them and whatever their key.

use crate::running::Start;
use crate::scratch::{Scratch, has_kernel_sandbox};
use serde_json::json;

const SPECIALIST: &str =
    "schema: kb.specialist/1\nid: worker\nrole: You write.\ntools: [fs:write, shell:exec]\n";
const PLAYBOOK: &str = "schema: kb.playbook/1\nid: p\nsteps:\n  - {id: work, agent: worker, task: Write., verify: {claims: none}}\n";

/// A repository that a script prepares, whose specialist writes a file by its tool, and then by a command.
fn attack(prepare: &str, path: &str, variables: &[(&str, &str)]) -> (Scratch, String) {
    let content = "#!/bin/sh\necho evil\n";
    let write = json!({"tool": "fs:write", "args": {"path": path, "content": content}});
    let shell =
        format!("(mkdir -p $(dirname {path}); echo evil > {path}) || true; echo evil > free.txt");
    let shell = json!({"tool": "shell:exec", "args": {"command": shell}});
    let turns = json!([{"calls": [write]}, {"calls": [shell]}, {"output": {"summary": "done"}}]);
    let script = json!({"schema": "kb.script/1", "steps": {"work": turns}});
    let scratch = Scratch::new(&[
        (".kb/playbooks/p.yml", PLAYBOOK),
        (".kb/specialists/worker.yml", SPECIALIST),
        ("script.yml", &script.to_string()),
        ("tools/x.sh", "own\n"),
    ]);
    let home = scratch.root().parent().unwrap().join("home");
    std::fs::create_dir_all(&home).unwrap();
    let mut shell = std::process::Command::new("bash");
    shell.args(["-euc", &format!("git init -q; {prepare}")]).current_dir(scratch.root());
    let done = shell.env("HOME", &home).finish();
    assert!(done.status.success(), "{prepare}: {done:?}");
    let said = scratch.kb_with(&["playbook", "run", "p", "--script", "script.yml"], |kb| {
        kb.env("HOME", &home);
        for (name, value) in variables {
            kb.env(name, value.replace("HOME", &home.display().to_string()));
        }
    });
    (scratch, said.err)
}

/// A file that exists is not written, and one that is new fails the step.
fn holds(prepare: &str, path: &str, variables: &[(&str, &str)]) {
    let (scratch, said) = attack(prepare, path, variables);
    assert!(scratch.has("free.txt"), "{prepare}: {said}");
    let text = std::fs::read_to_string(scratch.root().join(path)).unwrap_or_default();
    assert!(
        !text.contains("evil") || said.contains("changed protected paths"),
        "{prepare}: {said}"
    );
    assert!(said.contains("fs:write denied"), "{prepare}: {said}");
}

#[test]
fn settings_of_git_are_found_where_git_finds_them() {
    if !has_kernel_sandbox() {
        return;
    }
    let file = "printf '[core]\\nhooksPath = .gh\\n' >";
    for (prepare, variables) in [
        (
            format!("mkdir -p ~/xdg/git; {file} ~/xdg/git/config"),
            &[("XDG_CONFIG_HOME", "HOME/xdg")][..],
        ),
        (format!("{file} ~/own"), &[("GIT_CONFIG_GLOBAL", "HOME/own")]),
        (
            String::new(),
            &[
                ("GIT_CONFIG_COUNT", "1"),
                ("GIT_CONFIG_KEY_0", "core.hooksPath"),
                ("GIT_CONFIG_VALUE_0", ".gh"),
            ],
        ),
    ] {
        holds(&prepare, ".gh/post-commit", variables);
    }
}

/// A place without settings, or without a file, has some as soon as a command writes it.
#[test]
fn places_of_settings_in_the_project_are_protected() {
    if !has_kernel_sandbox() {
        return;
    }
    let link = "ln -s $PWD/dot ~/.gitconfig";
    for (prepare, path, variables) in [
        ("true", ".gitconfig", &[("HOME", "HOME/../project")][..]),
        ("true", "cfg/git/config", &[("XDG_CONFIG_HOME", "HOME/../project/cfg")]),
        ("true", "own", &[("GIT_CONFIG_GLOBAL", "HOME/../project/own")]),
        (link, "dot", &[]),
        (&format!("{link}; echo '# none' > dot"), "dot", &[]),
    ] {
        holds(prepare, path, variables);
    }
}

#[test]
fn settings_of_repositories_in_the_project_count() {
    if !has_kernel_sandbox() {
        return;
    }
    holds(
        "git init -q vendor/lib; git -C vendor/lib config core.hooksPath .gh",
        "vendor/lib/.gh/post-commit",
        &[],
    );
    holds(
        "git init -q vendor/lib; git -C vendor/lib config core.fsmonitor ../../tools/x.sh",
        "tools/x.sh",
        &[],
    );
    let submodule = "git init -q ~/s; git -C ~/s -c user.name=a -c user.email=a@b commit -q --allow-empty -m x; \
                     git -c protocol.file.allow=always submodule -q add ~/s sub; git -C sub config core.hooksPath ../tools";
    holds(submodule, "tools/x.sh", &[]);
}

#[test]
fn a_path_in_a_setting_is_protected_whatever_its_key() {
    if !has_kernel_sandbox() {
        return;
    }
    for key in
        ["core.alternateRefsCommand", "remote.o.uploadpack", "url.ext::./tools/x.sh.insteadOf"]
    {
        holds(&format!("git config '{key}' ./tools/x.sh"), "tools/x.sh", &[]);
    }
    // Names that are no paths protect nothing.
    let prepare =
        "git config init.defaultBranch tools; git config branch.tools.merge refs/heads/tools";
    let (scratch, said) = attack(prepare, "tools/x.sh", &[]);
    assert_eq!(scratch.read("tools/x.sh"), "evil\n", "{said}");
}

/// A repository that is the folder of hooks is protected whole.
#[test]
fn a_repository_with_hooks_is_protected() {
    if !has_kernel_sandbox() {
        return;
    }
    holds("git init -q gh; git config core.hooksPath gh", "gh/pre-commit", &[]);
    holds("git init -q gh; git config core.hooksPath gh", "gh/sub/x", &[]);
}

/// Without a list of its settings, each file could be one that git executes: there is no git, or an old one, or it cannot
/// read a file.
#[test]
fn without_a_list_of_git_no_specialist_starts() {
    let hooks = "git config core.hooksPath .gh; mkdir ~/bin";
    let old = "printf '#!/bin/sh\ncase \"$*\" in *show-origin*) exit 129;; esac\nexec /usr/bin/git \"$@\"\n' > ~/bin/git; chmod +x ~/bin/git";
    let include = "echo 1 > own; git config include.path ../own";
    let of_user = "echo 1 > own; printf \"[include]\\npath = $PWD/own\\n\" > ~/.gitconfig";
    for (prepare, variables, named) in [
        (hooks.to_owned(), &[("PATH", "HOME/bin")][..], "no program `git`"),
        (format!("{hooks}; {old}"), &[("PATH", "HOME/bin:/usr/bin:/bin")], "git failed"),
        (include.to_owned(), &[], "own"),
        (of_user.to_owned(), &[], "own"),
    ] {
        let (scratch, said) = attack(&prepare, ".gh/pre-commit", variables);
        assert!(!scratch.has(".gh") && !scratch.has("free.txt"), "{prepare}: {said}");
        for text in ["KB0606", "git does not list its settings", named] {
            assert!(said.contains(text), "{prepare}: {said}");
        }
    }
}

/// Every file of the project could be a hook, so that no specialist starts, and no tool or confined command.
#[test]
fn no_specialist_works_in_a_folder_of_hooks() {
    for (prepare, setting) in [
        ("git config core.hooksPath .", ".git/config:"),
        ("git config core.hooksPath $PWD/../", ".git/config:"),
        ("git init -q sub; git -C sub config core.hooksPath ../", "sub/.git/config:"),
    ] {
        let (scratch, said) = attack(prepare, "pre-commit", &[]);
        assert!(!scratch.has("pre-commit") && !scratch.has("free.txt"), "{prepare}: {said}");
        for text in ["KB0606", "`core.hookspath = ", setting] {
            assert!(said.contains(text), "{prepare}: {said}");
        }
        let steps = "steps: [{id: a, sandbox: always, run: touch pre-commit}]";
        scratch.write(".kb/playbooks/q.yml", &format!("schema: kb.playbook/1\nid: q\n{steps}\n"));
        let said = scratch.kb(&["playbook", "run", "q"]);
        if has_kernel_sandbox() {
            said.code(1).says(&["KB0606", "hooks of the project folder itself"]);
            assert!(!scratch.has("pre-commit"), "{prepare}");
        }
        scratch.kb(&["doctor"]).says(&["core.hookspath", "a folder of their own"]);
    }
}
