//! The path guard under links, races and absolute paths, through every tool.

use super::bench::{Bench, bench, call_of, put};
use crate::running::Start;
use kb::definition::ApprovalLevel;
use kb::evidence::FileKind;
use kb::process::{BaseEnvironment, Supervisor};
use kb::tool::{Approvals, ToolboxParts};
use kb::workspace::{PathError, Workspace};
use serde_json::json;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

/// A workspace `ws` beside a folder `outside` with a secret, and links of every kind.
fn under_attack() -> (Bench, PathBuf) {
    let bench = bench(&[("src/a.txt", "inside"), ("playbooks/p.yml", "id: p")]);
    let root = bench.dir.path().to_owned();
    let outside = tempfile::tempdir().unwrap().keep();
    put(&outside, "secret.txt", "secret");
    symlink(outside.join("secret.txt"), root.join("file-link")).unwrap();
    symlink(&outside, root.join("folder-link")).unwrap();
    symlink("folder-link", root.join("chain-link")).unwrap();
    symlink("..", root.join("up-link")).unwrap();
    symlink("/proc/self/root", root.join("magic-link")).unwrap();
    symlink("/proc/self/fd", root.join("fd-link")).unwrap();
    symlink("loop-b", root.join("loop-a")).unwrap();
    symlink("loop-a", root.join("loop-b")).unwrap();
    symlink(outside.join("not-there"), root.join("dangling")).unwrap();
    symlink("src/a.txt", root.join("good-link")).unwrap();
    symlink("playbooks", root.join("to-playbooks")).unwrap();
    (bench, outside)
}

#[tokio::test]
async fn nothing_leads_out_of_the_workspace() {
    let (bench, outside) = under_attack();
    let secret = outside.join("secret.txt").display().to_string();
    let paths = [
        "../x",
        "src/../../x",
        "./../x",
        "..",
        "/etc/passwd",
        "/proc/self/fd/0",
        "/proc/self/cwd/Cargo.toml",
        secret.as_str(),
        "file-link",
        "folder-link/secret.txt",
        "chain-link/secret.txt",
        "up-link/x",
        "magic-link/etc/passwd",
        "fd-link/0",
        "loop-a",
        "loop-a/x",
    ];
    for path in paths {
        let calls = [
            ("fs:read", json!({"path": path})),
            ("fs:exists", json!({"path": path})),
            ("fs:list", json!({"path": path})),
            ("fs:search", json!({"path": path, "pattern": "secret"})),
            ("fs:write", json!({"path": path, "content": "x"})),
            ("fs:edit", json!({"path": path, "old": "secret", "new": "x"})),
        ];
        for (tool, args) in calls {
            let told = bench.refused(tool, args).await;
            assert!(told.starts_with("Denied KB0605"), "{tool} {path}: {told}");
        }
    }
    assert_eq!(std::fs::read_to_string(outside.join("secret.txt")).unwrap(), "secret");
    let below = json!({"path": "folder-link/secret.txt"});
    assert!(bench.refused("fs:delete", below).await.starts_with("Denied KB0605"));
    for path in ["dangling", "dangling/x", "dangling/x/y"] {
        let told = bench.refused("fs:write", json!({"path": path, "content": "x"})).await;
        assert!(told.starts_with("Denied KB0605"), "{path}: {told}");
    }
    assert!(!outside.join("not-there").exists());
    std::fs::remove_dir_all(outside).unwrap();
}

#[tokio::test]
async fn a_walk_never_follows_a_link() {
    let (bench, outside) = under_attack();
    let found = bench.ok("fs:search", json!({"pattern": "secret"})).await;
    assert_eq!(found, json!({"matches": []}));
    let listed = bench.ok("fs:list", json!({"depth": 5})).await;
    assert!(!listed.to_string().contains("secret"), "{listed}");
    assert_eq!(bench.parts.workspace.glob("**/secret.txt").unwrap(), Vec::<String>::new());
    std::fs::remove_dir_all(outside).unwrap();
}

#[tokio::test]
async fn links_that_stay_inside_are_followed() {
    let (bench, outside) = under_attack();
    assert_eq!(bench.ok("fs:read", json!({"path": "good-link"})).await["content"], "inside");
    bench.ok("fs:write", json!({"path": "good-link", "content": "new"})).await;
    assert_eq!(bench.text("src/a.txt"), "new");
    let link = bench.dir.path().join("good-link");
    assert!(link.symlink_metadata().unwrap().is_symlink());
    std::fs::remove_dir_all(outside).unwrap();
}

#[tokio::test]
async fn an_absolute_path_inside_is_shown_relative() {
    let bench = bench(&[]);
    let path = bench.dir.path().join("a/b.txt").display().to_string();
    let args = json!({"path": path, "content": "x"});
    let (_, invocation) = bench.make(&super::bench::call("fs:write", args)).await;
    assert_eq!(invocation.changes[0].path, "a/b.txt");
    assert_eq!(bench.ok("fs:read", json!({"path": path})).await["content"], "x");
}

#[tokio::test]
async fn protected_places_are_read_and_never_changed() {
    let (bench, outside) = under_attack();
    assert_eq!(bench.ok("fs:read", json!({"path": "playbooks/p.yml"})).await["content"], "id: p");
    for path in [
        ".kb/kb.config.json",
        ".kb/specialists/new/specialist.yml",
        "playbooks/p.yml",
        "playbooks/new.yml",
        "Playbooks/new.yml",
        "workflows/w.md",
        "agents/x.md",
        ".git/hooks/pre-commit",
        "src/.git/config",
        "vendored/lib/.git/hooks/post-checkout",
        "src/../.git/config",
        "to-playbooks/p.yml",
        "to-playbooks/new.yml",
    ] {
        let told = bench.refused("fs:write", json!({"path": path, "content": "x"})).await;
        assert!(told.starts_with("Denied KB0606"), "{path}: {told}");
    }
    let told = bench.refused("fs:delete", json!({"path": "playbooks/p.yml"})).await;
    assert!(told.starts_with("Denied KB0606"), "{told}");
    assert!(!bench.has(".kb") && !bench.has(".git") && !bench.has("vendored"));
    assert_eq!(bench.text("playbooks/p.yml"), "id: p");
    for path in ["src/playbooks/x.yml", ".github/workflows/ci.yml", ".gitignore", "kb/x"] {
        bench.ok("fs:write", json!({"path": path, "content": "x"})).await;
    }
    std::fs::remove_dir_all(outside).unwrap();
}

#[tokio::test]
async fn paths_that_are_none_are_refused() {
    let bench = bench(&[("a", "")]);
    let told = bench.refused("fs:read", json!({"path": ""})).await;
    assert_eq!(told, "Failed KB0607 the path is empty");
    let told = bench.refused("fs:read", json!({"path": "a\0/../../etc/passwd"})).await;
    assert_eq!(told, "Denied KB0607 the path contains a NUL character");
    let long = json!({"path": "x".repeat(5_000), "content": ""});
    assert!(bench.refused("fs:write", long).await.starts_with("Failed KB0612"));
}

#[tokio::test]
async fn pipes_and_devices_are_refused_and_never_waited_for() {
    let bench = bench(&[]);
    let pipe = bench.dir.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).finish().status;
    assert!(made.success());
    for (tool, args) in [
        ("fs:read", json!({"path": "pipe"})),
        ("fs:write", json!({"path": "pipe", "content": "x"})),
        ("fs:edit", json!({"path": "pipe", "old": "x", "new": "y"})),
        ("fs:search", json!({"path": "pipe", "pattern": "x"})),
    ] {
        let told = bench.refused(tool, args).await;
        let expected = "Failed KB0609 `pipe` is a pipe, socket or device, not a";
        assert!(told.starts_with(expected), "{tool}: {told}");
    }
    assert_eq!(bench.ok("fs:search", json!({"pattern": "x"})).await, json!({"matches": []}));
    let kind = bench.parts.workspace.stat("pipe").unwrap().map(|state| state.kind);
    assert_eq!(kind, Some(FileKind::Other));
}

#[tokio::test]
async fn further_roots_are_read_and_not_written() {
    let (root, other, state) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    put(other.path(), "lib.rs", "code");
    let given = [other.path().to_owned()];
    let workspace = Workspace::open(root.path(), &given, &[state.path().to_owned()]).unwrap();
    let lib = other.path().join("lib.rs").display().to_string();
    assert_eq!(workspace.read_file(&lib).unwrap(), b"code");
    assert_eq!(
        workspace.cwd(&other.path().display().to_string()).err(),
        Some(PathError::Outside(other.path().display().to_string()))
    );
    let secret = state.path().join("kb.db").display().to_string();
    assert_eq!(workspace.read_file(&secret), Err(PathError::Outside(secret.clone())));
    let all = other.path().join("*").display().to_string();
    assert!(workspace.glob(&all).is_err());
    let bench = Bench::new(root, parts(workspace));
    for (tool, args) in [
        ("fs:write", json!({"path": lib, "content": "x"})),
        ("fs:edit", json!({"path": lib, "old": "code", "new": "x"})),
        ("fs:delete", json!({"path": lib})),
    ] {
        let told = bench.refused(tool, args).await;
        assert!(told.starts_with("Denied KB0605"), "{tool}: {told}");
    }
    assert_eq!(std::fs::read_to_string(lib).unwrap(), "code");
    assert!(!bench.has("lib.rs"), "nor is it written here");
}

/// Nothing is known of where a path leads in a folder that is another's by now.
#[tokio::test]
async fn a_workspace_that_was_moved_is_no_place_to_work_in() {
    let (place, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let ws = place.path().join("ws");
    put(&ws, "src/a.txt", "inside");
    put(&ws, "playbooks/p.yml", "id: p");
    let bench = Bench::new(root, parts(Workspace::open(&ws, &[], &[]).unwrap()));
    std::fs::rename(&ws, place.path().join("moved")).unwrap();
    for (tool, args) in [
        ("fs:read", json!({"path": "src/a.txt"})),
        ("fs:list", json!({"path": "."})),
        ("fs:write", json!({"path": "new.txt", "content": "x"})),
        ("fs:write", json!({"path": "playbooks/p.yml", "content": "x"})),
        ("fs:delete", json!({"path": "playbooks/p.yml"})),
    ] {
        let told = bench.refused(tool, args.clone()).await;
        assert!(told.starts_with("Denied KB0605"), "{tool} {args}: {told}");
    }
    let left = std::fs::read_to_string(place.path().join("moved/playbooks/p.yml"));
    assert_eq!(left.unwrap(), "id: p");
}

fn parts(workspace: Workspace) -> ToolboxParts {
    ToolboxParts {
        doubles: None,
        memory: None,
        clock: kb::clock::Clock::system().into(),
        tools: Vec::new(),
        workspace,
        supervisor: Supervisor::new(BaseEnvironment::select(std::env::vars(), &[])),
        settings: Default::default(),
        approvals: Approvals { yes: true },
        redactor: Default::default(),
        sandbox: ApprovalLevel::None,
    }
}

#[tokio::test]
async fn the_state_inside_the_workspace_is_protected_before_it_exists() {
    let dir = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(dir.path(), &[], &["var/state/kb".into()]).unwrap();
    let bench = Bench::new(dir, parts(workspace));
    let told = bench.refused("fs:write", json!({"path": "var/state/kb/x.db", "content": ""})).await;
    assert!(told.starts_with("Denied KB0606"), "{told}");
    bench.ok("fs:write", json!({"path": "var/state/other", "content": ""})).await;
}

/// `kb` itself writes its journal all the time, here in the command's stead.
#[tokio::test]
async fn what_becomes_of_the_state_inside_the_workspace_is_no_change_of_a_command_s() {
    let dir = tempfile::tempdir().unwrap();
    put(dir.path(), ".kb/state/x.db", "before");
    put(dir.path(), "var/kb/x.db", "before");
    let state = [".kb/state".into(), "var/kb".into()];
    let workspace = Workspace::open(dir.path(), &[], &state).unwrap();
    let bench = Bench::new(dir, parts(workspace));
    for (at, code, changes) in [
        (".kb/state/x.db", None, 0),
        ("var/kb/x.db", None, 0),
        ("var/x", None, 1),
        (".kb/x.yml", Some("KB0606"), 1),
    ] {
        let args = json!({"command": format!("echo after > {at}")});
        let (result, _) = bench.make(&call_of(&["shell:exec"], "shell:exec", args)).await;
        let told = (result.failure.map(|failure| failure.code.as_str()), result.changes.len());
        assert_eq!(told, (code, changes), "{at}: {:#}", result.result);
    }
}

#[test]
fn working_directories_are_folders_inside() {
    let bench = bench(&[("src/a", "")]);
    let workspace = &bench.parts.workspace;
    let root = workspace.root().to_owned();
    symlink("/etc", root.join("etc")).unwrap();
    assert_eq!(workspace.cwd(""), Ok(root.clone()));
    assert_eq!(workspace.cwd("."), Ok(root.clone()));
    assert_eq!(workspace.cwd("src"), Ok(root.join("src")));
    assert_eq!(workspace.cwd("etc"), Err(PathError::Outside("etc".into())));
    assert_eq!(workspace.cwd("../"), Err(PathError::Outside("../".into())));
    assert_eq!(workspace.cwd("none"), Err(PathError::Missing("none".into())));
    assert!(matches!(workspace.cwd("src/a"), Err(PathError::WrongKind { .. })));
}

/// Somebody swaps a folder for a link that leaves, again and again, while tools work in it.
#[test]
fn a_race_does_not_lead_out_of_the_workspace() {
    let (bench, outside) = under_attack();
    let (folder, aside) = (bench.dir.path().join("swap"), bench.dir.path().join("aside"));
    std::fs::create_dir(&folder).unwrap();
    put(&folder, "secret.txt", "harmless");
    let stop = std::sync::atomic::AtomicBool::new(false);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    symlink(&outside, &aside).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            use rustix::fs::{CWD, RenameFlags, renameat_with};
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                renameat_with(CWD, &folder, CWD, &aside, RenameFlags::EXCHANGE).unwrap();
            }
        });
        for i in 0..400 {
            let path = "swap/secret.txt";
            let read = runtime.block_on(bench.run("fs:read", json!({"path": path})));
            assert!(!read.result.to_string().contains("\"secret\""), "{}", read.result);
            let args = json!({"path": path, "content": format!("harmless {i}")});
            runtime.block_on(bench.run("fs:write", args));
            let found = runtime.block_on(bench.run("fs:search", json!({"pattern": "^secret$"})));
            assert_eq!(found.result, json!({"matches": []}));
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(std::fs::read_to_string(outside.join("secret.txt")).unwrap(), "secret");
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
    std::fs::remove_dir_all(outside).unwrap();
}
