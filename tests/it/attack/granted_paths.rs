//! What the sandbox permits without being asked: folders of `PATH`, toolchains and caches. No command decides by a link
//! what the next one may use, and servers in these folders are not reached.

use crate::running::Start;
use crate::scratch::{Said, Scratch, has_kernel_sandbox};
use std::os::unix::net::UnixListener;

/// The text of a file outside of the project.
const MARK: &str = "OUTSIDE-2217";

/// Runs two confined commands in a project. `prepare` runs before, with `HOME` and the project as working directory.
fn run(prepare: &str, commands: [&str; 2], home: &str, path: &str) -> Said {
    let [make, read] = commands;
    let steps = serde_json::json!([
        {"id": "a", "sandbox": "always", "run": make},
        {"id": "b", "sandbox": "always", "run": read, "dependsOn": ["a"]},
    ]);
    let playbook = format!("schema: kb.playbook/1\nid: p\nsteps: {steps}\n");
    let scratch = Scratch::new(&[(".kb/playbooks/p.yml", &playbook)]);
    let root = scratch.root();
    let above = root.parent().unwrap();
    let outside = above.join("outside");
    std::fs::create_dir_all(&outside).unwrap();
    std::fs::write(outside.join("key"), MARK).unwrap();
    let home = scratch.root().join(home);
    std::fs::create_dir_all(&home).unwrap();
    let mut shell = std::process::Command::new("bash");
    shell.args(["-euc", prepare]).current_dir(scratch.root()).env("HOME", &home);
    assert!(shell.finish().status.success(), "{prepare}");
    let path = path.replace("ROOT", &scratch.root().display().to_string());
    scratch.kb_with(&["playbook", "run", "p"], |kb| {
        kb.env("HOME", &home).env("XDG_STATE_HOME", above.join("state"));
        kb.env("PATH", format!("{path}:{}", std::env::var("PATH").unwrap()));
    })
}

#[test]
fn a_link_that_a_command_makes_opens_no_path() {
    if !has_kernel_sandbox() {
        return;
    }
    let outside = "$(cd ..; pwd)/outside";
    for (prepare, make, read, home, path) in [
        (
            "mkdir -p venv/bin",
            "ln -s OUT venv/share",
            "cat venv/share/key",
            "../home",
            "ROOT/venv/bin",
        ),
        (
            "mkdir -p venv/bin",
            "rmdir venv/bin; ln -s OUT venv/bin",
            "cat venv/bin/key",
            "../home",
            "ROOT/venv/bin",
        ),
        (
            "mkdir node_modules",
            "ln -s OUT node_modules/.bin",
            "cat node_modules/.bin/key",
            "../home",
            "ROOT/node_modules/.bin",
        ),
        (
            "mkdir -p ~/.npm/_cacache/x/bin",
            "ln -s OUT ~/.npm/_cacache/x/share",
            "cat ~/.npm/_cacache/x/share/key",
            "../home",
            "ROOT/../home/.npm/_cacache/x/bin",
        ),
        // The home directory is the project.
        ("true", "ln -s OUT ~/.npm", "cat ~/.npm/key; echo x > ~/.npm/new", ".", "/bin"),
        ("true", "ln -s OUT ~/.fonts", "cat ~/.fonts/key", ".", "/bin"),
        ("true", "ln -s OUT ~/.npm", "cat ~/.npm/key; echo x > ~/.npm/new", "sub", "/bin"),
    ] {
        let make = make.replace("OUT", outside);
        let said = run(prepare, [&make, read], home, path);
        assert_eq!(said.code, 1, "{make}: {said:?}");
        let said = said.says(&["No such file"]);
        assert!(!said.out.contains(MARK) && !said.err.contains(MARK), "{make}: {said:?}");
    }
}

/// Whatever the name is that a server gave to its socket, and whenever it started.
#[test]
fn a_server_in_a_readable_folder_is_not_reached() {
    if !has_kernel_sandbox() {
        return;
    }
    let connect = "import socket; s = socket.socket(1); s.connect(\"FOLDER/s.sock\")";
    for (folder, code) in [("../home/.local/lib", 1), ("own", 0), ("../opened", 0)] {
        let connect = connect.replace("FOLDER", folder);
        let sandbox = serde_json::json!({"read": ["../opened"]});
        let steps =
            serde_json::json!([{"id": "a", "sandbox": sandbox, "run": ["python3", "-c", connect]}]);
        let playbook = format!("schema: kb.playbook/1\nid: p\nsteps: {steps}\n");
        let scratch = Scratch::new(&[(".kb/playbooks/p.yml", &playbook)]);
        let home = scratch.root().parent().unwrap().join("home");
        std::fs::create_dir_all(&home).unwrap();
        let folder = scratch.root().join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        let _server = UnixListener::bind(folder.join("other")).unwrap();
        std::fs::rename(folder.join("other"), folder.join("s.sock")).unwrap();
        let said = scratch.kb_with(&["playbook", "run", "p"], |kb| {
            kb.env("HOME", &home);
        });
        assert_eq!(said.code, code, "{}: {said:?}", folder.display());
        if code == 1 {
            said.says(&["Connection refused"]);
        }
    }
}

/// A confined command sees what a free one before it changed in a folder of the system.
#[test]
fn a_confined_command_sees_what_a_free_one_installed() {
    if !has_kernel_sandbox() {
        return;
    }
    let steps = serde_json::json!([
        {"id": "before", "sandbox": "always", "run": "! tool; ! ls ~/.local/bin/new"},
        {"id": "install", "dependsOn": "before", "run": "mv tool.sh ~/.local/bin/tool; touch ~/.local/bin/new"},
        {"id": "after", "dependsOn": "install", "sandbox": "always", "run": "tool; ls ~/.local/bin/new"},
        {"id": "again", "dependsOn": "after", "run": "mv other.sh ~/.local/bin/tool"},
        {"id": "last", "dependsOn": "again", "sandbox": "always", "run": "tool | grep -x other"},
    ]);
    let playbook = format!("schema: kb.playbook/1\nid: p\nsteps: {steps}\n");
    let scratch = Scratch::new(&[
        (".kb/playbooks/p.yml", &playbook),
        ("tool.sh", "#!/bin/sh\necho one\n"),
        ("other.sh", "#!/bin/sh\necho other\n"),
    ]);
    for name in ["tool.sh", "other.sh"] {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(scratch.root().join(name), mode).unwrap();
    }
    let home = scratch.root().parent().unwrap().join("home");
    std::fs::create_dir_all(home.join(".local/bin")).unwrap();
    let path = format!("{}/.local/bin:/usr/bin:/bin", home.display());
    let said = scratch.kb_with(&["playbook", "run", "p"], |kb| {
        kb.env("HOME", &home).env("PATH", path);
    });
    said.code(0);
}

/// A folder for temporary files in the project is not used: commands could replace it by a link.
#[test]
fn temporary_files_are_not_in_the_project() {
    let playbook = "schema: kb.playbook/1\nid: p\nsteps: [{id: a, run: 'echo $TMPDIR'}]\n";
    let scratch = Scratch::new(&[(".kb/playbooks/p.yml", playbook), ("sub/tmp/x", "")]);
    let temporary = scratch.root().join("sub/tmp");
    let run = |folder: &str| {
        let folder = scratch.root().join(folder);
        scratch.kb_with(&["playbook", "run", "p", "--json"], |kb| {
            kb.current_dir(folder).env("TMPDIR", &temporary);
        })
    };
    let said = run(".");
    assert!(said.code == 0 && !said.out.contains("sub/tmp"), "{said:?}");
    let said = run("sub/tmp");
    assert!(said.code == 0 && !said.out.contains("/sub/tmp/kb-"), "{said:?}");
    scratch.write("other/x", "");
    run("other").code(1).says(&["lies in the project", "set `TMPDIR` to another one"]);
}

/// Such as the lock of a cron job.
#[test]
fn files_that_the_caller_left_open_are_not_passed_on() {
    let command =
        "set +e; (readlink /proc/self/fd/* | grep key; echo x >&9; cat <&8) > got 2>&1; true";
    let steps = serde_json::json!([
        {"id": "a", "sandbox": "always", "run": command},
        {"id": "b", "dependsOn": ["a"], "run": ["bash", "-c", "cat <&8 && exit 9 || true"]},
    ]);
    let playbook = format!("schema: kb.playbook/1\nid: p\nsteps: {steps}\n");
    let scratch = Scratch::new(&[(".kb/playbooks/p.yml", &playbook)]);
    let key = scratch.root().parent().unwrap().join("key");
    std::fs::write(&key, MARK).unwrap();
    let mut shell = scratch.program(None, "bash");
    shell.args(["-c", "exec \"$0\" playbook run p 8<../key 9>>../key", env!("CARGO_BIN_EXE_kb")]);
    let said = shell.finish();
    assert!(said.status.success(), "{said:?}");
    let got = std::fs::read_to_string(scratch.root().join("got")).unwrap();
    assert!(!got.contains(MARK) && !got.contains("/key"), "{got}");
    assert_eq!(std::fs::read_to_string(&key).unwrap(), MARK);
}

/// The kernel restricts commands also where `kb` starts them without namespaces.
#[test]
fn without_namespaces_neither_the_terminal_nor_shared_memory_is_reached() {
    if !has_kernel_sandbox() {
        return;
    }
    let ipc = "import ctypes, sys; libc = ctypes.CDLL(None, use_errno=True); \
        ids = [libc.shmget(0, 4096, 0o1600), libc.semget(0, 1, 0o1600), libc.msgget(0, 0o1600)] ";
    let make = format!("{ipc}\nprint(*ids)");
    let remove = "import ctypes, sys; libc = ctypes.CDLL(None); shm, sem, msg = map(int, sys.argv[1:]); \
        print(libc.shmctl(shm, 0, 0), libc.semctl(sem, 0, 0), libc.msgctl(msg, 0, 0))";
    let python = |code: &str, more: &[&str]| {
        let mut python = std::process::Command::new("python3");
        let said = python.args(["-c", code]).args(more).finish();
        String::from_utf8(said.stdout).unwrap().trim().to_owned()
    };
    let ids = python(&make, &[]);
    let ids: Vec<&str> = ids.split(' ').collect();
    let steps = serde_json::json!([
        {"id": "ipc", "sandbox": "always", "run": ["python3", "-c", remove, ids[0], ids[1], ids[2]]},
        {"id": "tty", "sandbox": "always", "run": "echo typed > /dev/tty"},
    ]);
    let playbook = format!("schema: kb.playbook/1\nid: p\nsteps: {steps}\n");
    let settings = "sandbox: {processes: group}\n";
    let scratch =
        Scratch::new(&[(".kb/playbooks/p.yml", &playbook), (".kb/kb.config.yml", settings)]);
    if std::process::Command::new("script").arg("--version").finish_if_found().is_none() {
        return eprintln!("skipped: no `script` makes a terminal here");
    }
    let mut terminal = scratch.program(None, "script");
    terminal.args(["-qec", &format!("{} playbook run p", env!("CARGO_BIN_EXE_kb")), "/dev/null"]);
    terminal.stdin(std::process::Stdio::null());
    let shown = String::from_utf8(terminal.finish().stdout).unwrap();
    assert!(shown.contains("/dev/tty") && !shown.contains("\ntyped"), "{shown}");
    assert_eq!(scratch.kb(&["run", "output", "@last", "ipc"]).out.trim(), "-1 -1 -1", "{shown}");
    assert_eq!(python(remove, &ids), "0 0 0");
}

/// No command writes the record of a run through a cache that all can write.
#[test]
fn the_state_of_kb_is_in_no_package_cache() {
    if !has_kernel_sandbox() {
        return;
    }
    let playbook =
        "schema: kb.playbook/1\nid: p\nsteps: [{id: a, sandbox: always, run: 'echo x'}]\n";
    let scratch = Scratch::new(&[(".kb/playbooks/p.yml", playbook)]);
    let home = scratch.root().parent().unwrap().join("home");
    std::fs::create_dir_all(home.join(".npm/_cacache")).unwrap();
    let said = scratch.kb_with(&["playbook", "run", "p"], |kb| {
        kb.env("HOME", &home).env("XDG_STATE_HOME", home.join(".npm/_cacache/state"));
    });
    said.code(1).says(&["KB0606", "commands could write the state of `kb`"]);
}

/// Nothing keeps it read-only there.
#[test]
fn without_namespaces_the_state_of_kb_is_not_in_the_project() {
    if !has_kernel_sandbox() {
        return;
    }
    let playbook =
        "schema: kb.playbook/1\nid: p\nsteps: [{id: a, sandbox: always, run: 'echo x'}]\n";
    let scratch = Scratch::new(&[(".kb/playbooks/p.yml", playbook)]);
    for (processes, code) in [("group", 1), ("auto", 0)] {
        scratch.write(".kb/kb.config.yml", &format!("sandbox: {{processes: {processes}}}\n"));
        let said = scratch.kb_with(&["playbook", "run", "p"], |kb| {
            kb.env("XDG_STATE_HOME", scratch.root().join("state"));
        });
        assert_eq!(said.code, code, "{said:?}");
        assert_eq!(said.out.contains("set XDG_STATE_HOME"), code == 1, "{said:?}");
    }
}

/// Its tokens and records are read by no command and no tool, also where the project contains it.
#[test]
fn nothing_reads_the_state_of_kb_in_the_project() {
    if !has_kernel_sandbox() {
        return;
    }
    let token = "state/kb/other/serve.token";
    let steps = serde_json::json!([
        {"id": "see", "sandbox": "always", "run": format!("cat {token} || true; find state")},
        {"id": "search", "tool": "fs:search", "input": {"pattern": MARK, "path": "state"}},
        {"id": "list", "tool": "fs:list", "input": {"path": "state", "depth": 9}},
        {"id": "read", "tool": "fs:read", "input": {"path": token}, "onError": "continue"},
        {"id": "folder", "tool": "fs:list", "input": {"path": "state/kb"}, "onError": "continue"},
        {"id": "gate", "gate": [{"file": {"path": token, "count": {"pattern": MARK, "min": 1}}}], "onError": "continue"},
    ]);
    let playbook = format!("schema: kb.playbook/1\nid: p\nsteps: {steps}\n");
    let scratch = Scratch::new(&[(".kb/playbooks/p.yml", &playbook)]);
    scratch.write(token, MARK);
    let kb = |args: &[&str]| {
        scratch.kb_with(args, |kb| {
            kb.env("XDG_STATE_HOME", scratch.root().join("state"));
        })
    };
    let said = kb(&["playbook", "run", "p"]);
    said.says(&["`state/kb/other/serve.token` is in the state of `kb`", "KB0606"]);
    let shown = kb(&["run", "show", "@last", "--json"]);
    let shown: serde_json::Value = serde_json::from_str(&shown.out).unwrap();
    for (step, works) in
        [("see", true), ("search", true), ("list", true), ("read", false), ("folder", false)]
    {
        let steps = shown["steps"].as_array().unwrap();
        let found = steps.iter().find(|found| found["instance"] == step).unwrap();
        assert_eq!(found["status"] == "succeeded", works, "{found}");
        let output = kb(&["run", "output", "@last", step]).out;
        assert!(!output.contains(MARK) && !output.contains("serve.token"), "{step}: {output}");
    }
    let gate = shown["steps"].as_array().unwrap().iter().find(|one| one["instance"] == "gate");
    assert_ne!(gate.unwrap()["verdict"], "passed", "{shown}");
}

/// What others execute of the caches of package managers is read-only.
#[test]
fn installed_programs_in_caches_are_not_written() {
    if !has_kernel_sandbox() {
        return;
    }
    let home = "mkdir -p ../home/.npm/_npx/t ../home/.npm/_cacache ../home/.cache/ms-playwright/t ../home/.cache/pip; touch ../home/.npm/_npx/t/own ../home/.cache/ms-playwright/t/own";
    for (command, code) in [
        ("cat ~/.npm/_npx/t/own ~/.cache/ms-playwright/t/own", 0),
        ("touch ~/.npm/_cacache/new ~/.cache/pip/new", 0),
        ("touch ~/.npm/_npx/t/new", 1),
        ("touch ~/.npm/new", 1),
        ("touch ~/.cache/ms-playwright/t/new", 1),
    ] {
        let said = run(home, [command, "true"], "../home", "/bin");
        assert_eq!(said.code, code, "{command}: {said:?}");
    }
}
