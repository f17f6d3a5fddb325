//! The path guard. A workspace full of traps beside a folder with a secret: whatever is asked of
//! whichever tool, nothing outside is read or changed, nor is any protected place written.

use crate::proof;
use crate::running::Start;
use crate::tools::bench::{Bench, Setup, call_of, put};
use kb::definition::ApprovalLevel;
use kb::evidence::InvocationStatus;
use kb::tool::{Approvals, Call, CallResult, ToolboxParts};
use kb::value::Json;
use kb::workspace::Workspace;
use serde_json::json;
use std::collections::BTreeMap;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What stands in every file outside, and nowhere inside.
const MARK: &str = "THE-SECRET-OUTSIDE";

/// A workspace with traps, beside a folder that nobody may reach.
struct Trap {
    bench: Bench,
    outside: tempfile::TempDir,
    before: BTreeMap<PathBuf, String>,
}

impl Trap {
    fn set(sandbox: ApprovalLevel) -> Trap {
        let outside = tempfile::tempdir().unwrap();
        for at in ["secret.txt", "victim.txt", "folder/secret.txt", "a.txt"] {
            put(outside.path(), at, MARK);
        }
        let files = vec![
            ("src/a.txt", "inside"),
            ("src/deep/er/b.txt", "inside"),
            ("playbooks/p.yml", "id: p"),
            (".kb/kb.config.yml", "env: {}"),
            (".git/config", "[core]"),
            (".git/hooks/update", "#!/bin/sh"),
            ("sub/.git/config", "[core]"),
            ("agents/a.md", "text"),
            ("state/x", "text"),
        ];
        let bench = Setup { files, sandbox: Some(sandbox), ..Setup::default() }.bench();
        let parts = ToolboxParts {
            doubles: None,
            memory: None,
            clock: kb::clock::Clock::system().into(),
            tools: Vec::new(),
            workspace: Workspace::open(bench.dir.path(), &[], &["state/kb".into()]).unwrap(),
            supervisor: bench.parts.supervisor.clone(),
            settings: Default::default(),
            approvals: Approvals { yes: true },
            redactor: Default::default(),
            sandbox,
        };
        let mut trap =
            Trap { bench: Bench::new(bench.dir, parts), outside, before: BTreeMap::new() };
        trap.links();
        trap.before = trap.seen();
        trap
    }

    fn root(&self) -> &Path {
        self.bench.dir.path()
    }

    fn links(&self) {
        let (root, out) = (self.root(), self.outside.path());
        let up = "../".repeat(20);
        let far = format!("{up}{}", out.strip_prefix("/").unwrap().display());
        let name = out.file_name().unwrap().to_string_lossy();
        for (at, target) in [
            ("file-link", out.join("secret.txt").display().to_string()),
            ("folder-link", out.display().to_string()),
            ("relative-link", far.clone()),
            ("sibling-link", format!("../{name}")),
            ("src/deep/er/sibling", format!("../../../../{name}/secret.txt")),
            ("chain-1", "chain-2".into()),
            ("chain-2", "src/../chain-3".into()),
            ("chain-3", "folder-link".into()),
            ("up-link", "..".into()),
            ("src/up", "../..".into()),
            ("root-link", "/".into()),
            ("proc-root", "/proc/self/root".into()),
            ("proc-cwd", "/proc/self/cwd".into()),
            ("proc-fd", "/proc/self/fd".into()),
            ("dev-fd", "/dev/fd".into()),
            ("dev-null", "/dev/null".into()),
            ("loop-a", "loop-b".into()),
            ("loop-b", "loop-a".into()),
            ("self-loop", "self-loop".into()),
            ("dangling", out.join("not-there").display().to_string()),
            ("dangling-folder", out.join("no/such").display().to_string()),
            ("absolute-inside", root.join("src/a.txt").display().to_string()),
            ("to-playbooks", "playbooks".into()),
            ("to-playbook", "playbooks/p.yml".into()),
            ("to-settings", ".kb".into()),
            ("to-git", ".git".into()),
            ("to-state", "state".into()),
            ("src/to-hooks", "../.git/hooks".into()),
        ] {
            let _ = symlink(target, root.join(at));
        }
        (0..60).for_each(|i| {
            let _ = symlink(format!("long-{}", i + 1), root.join(format!("long-{i}")));
        });
        let _ = symlink("folder-link", root.join("long-60"));
        // Where all is on one disk, files have second names in here.
        let _ = std::fs::hard_link(root.join("playbooks/p.yml"), root.join("hard.yml"));
        let _ = std::fs::hard_link(root.join(".git/hooks/update"), root.join("src/hard-hook"));
        let _ = std::fs::hard_link(out.join("a.txt"), root.join("hard-outside"));
    }

    /// Everything outside and everything protected, with its content.
    fn seen(&self) -> BTreeMap<PathBuf, String> {
        let mut seen = BTreeMap::new();
        take_in(self.outside.path(), &mut seen);
        for at in ["playbooks", ".kb", ".git", "sub/.git", "agents", "workflows", "state/kb"] {
            take_in(&self.root().join(at), &mut seen);
        }
        seen
    }

    /// One call, which must end.
    async fn call(&self, tool: &str, args: Json) -> CallResult {
        let work = self.bench.run(tool, args.clone());
        let ended = tokio::time::timeout(Duration::from_secs(60), work).await;
        ended.unwrap_or_else(|_| panic!("`{tool}` waits for ever: {args}"))
    }
}

fn take_in(at: &Path, seen: &mut BTreeMap<PathBuf, String>) {
    let Ok(found) = at.symlink_metadata() else { return };
    let mode = found.mode();
    if found.is_dir() {
        seen.insert(at.to_owned(), format!("{mode:o}"));
        for entry in std::fs::read_dir(at).unwrap() {
            take_in(&entry.unwrap().path(), seen);
        }
    } else {
        let text = std::fs::read_to_string(at).unwrap_or_default();
        seen.insert(at.to_owned(), format!("{mode:o} {text}"));
    }
}

/// What each tool is asked with a path.
fn calls(path: &str) -> Vec<(&'static str, Json)> {
    vec![
        ("fs:read", json!({"path": path})),
        ("fs:list", json!({"path": path, "depth": 3})),
        ("fs:search", json!({"path": path, "pattern": "."})),
        ("fs:exists", json!({"path": path})),
        ("fs:write", json!({"path": path, "content": "overwritten"})),
        ("fs:edit", json!({"path": path, "old": "i", "new": "overwritten"})),
        ("fs:delete", json!({"path": path})),
        ("shell:exec", json!({"argv": ["pwd"], "cwd": path})),
    ]
}

/// Paths that lead out, or that are none; every tool refuses each.
fn ways_out(trap: &Trap) -> Vec<String> {
    let (root, out) = (trap.root().display(), trap.outside.path().display());
    let name = trap.outside.path().file_name().unwrap().to_string_lossy().into_owned();
    let far = format!("{}{}", "../".repeat(30), out.to_string().trim_start_matches('/'));
    let fd = std::fs::File::open(trap.outside.path().join("secret.txt")).unwrap();
    let folder = std::fs::File::open(trap.outside.path()).unwrap();
    let (n, f, pid) = (fd.as_raw_fd(), folder.as_raw_fd(), std::process::id());
    std::mem::forget((fd, folder));
    let mut ways = vec![
        "..".into(),
        "../".into(),
        "../.".into(),
        "./..".into(),
        "src/../..".into(),
        "src/deep/../../..".into(),
        "src//..//..//".into(),
        far.clone(),
        format!("src/{far}"),
        format!("{far}/secret.txt"),
        format!("../{name}/secret.txt"),
        format!("./../{name}/./secret.txt"),
        format!("src/../../{name}/folder/../secret.txt"),
        format!("{out}/secret.txt"),
        format!("/{out}/secret.txt"),
        format!("//{out}//secret.txt"),
        format!("{out}"),
        format!("{root}/../{name}/secret.txt"),
        format!("{root}/src/../../{name}/secret.txt"),
        format!("{root}x/secret.txt"),
        "/".into(),
        "//".into(),
        "/etc/passwd".into(),
        "/etc/shadow".into(),
        "/dev/mem".into(),
        "/proc/self/environ".into(),
        "/proc/self/mem".into(),
        "/proc/self/cwd".into(),
        format!("/proc/self/cwd/../{name}/secret.txt"),
        format!("/proc/self/root/{out}/secret.txt"),
        format!("/proc/{pid}/root/{out}/secret.txt"),
        format!("/proc/{pid}/cwd/x"),
        format!("/proc/self/fd/{n}"),
        format!("/proc/thread-self/fd/{n}"),
        format!("/proc/self/fd/{f}/secret.txt"),
        format!("/proc/{pid}/fd/{f}/victim.txt"),
        format!("/dev/fd/{n}"),
        "/dev/stdin".into(),
        "/dev/tty".into(),
        "file-link".into(),
        "file-link/".into(),
        "folder-link".into(),
        "folder-link/".into(),
        "folder-link/.".into(),
        "folder-link/secret.txt".into(),
        "folder-link//secret.txt".into(),
        "folder-link/./folder/../secret.txt".into(),
        "folder-link/new.txt".into(),
        "folder-link/new/er.txt".into(),
        "relative-link/secret.txt".into(),
        "sibling-link/secret.txt".into(),
        "src/deep/er/sibling".into(),
        "src/../src/deep/er/sibling".into(),
        "chain-1".into(),
        "chain-1/victim.txt".into(),
        "chain-2/victim.txt".into(),
        "long-0/secret.txt".into(),
        "long-30/secret.txt".into(),
        format!("up-link/{name}/secret.txt"),
        format!("src/up/{name}/secret.txt"),
        "root-link/etc/passwd".into(),
        format!("root-link/{out}/secret.txt"),
        "proc-root/etc/passwd".into(),
        format!("proc-cwd/../{name}/secret.txt"),
        format!("proc-fd/{n}"),
        format!("proc-fd/{f}/secret.txt"),
        format!("dev-fd/{n}"),
        "dev-null".into(),
        "loop-a".into(),
        "loop-a/x".into(),
        "self-loop".into(),
        "self-loop/self-loop".into(),
        "dangling".into(),
        "dangling/x".into(),
        "dangling-folder/x/y".into(),
        "absolute-inside".into(),
        "src/\0/../../x".into(),
        "\0".into(),
        format!("src/a.txt\0../{name}/secret.txt"),
        String::new(),
        "x".repeat(256),
        "x/".repeat(2_500),
        format!("{}secret.txt", "folder-link/../".repeat(400)),
        "src/a.txt/x".into(),
        "src/a.txt/..".into(),
        "src/a.txt/../../..".into(),
        "missing/../../x".into(),
        "missing/..".into(),
        format!("src/\n/../../../{name}/secret.txt"),
    ];
    // A text that is no path to the kernel, but to somebody who decodes, expands or folds it.
    ways.extend([
        format!("%2e%2e/{name}/secret.txt"),
        format!("..%2f{name}%2fsecret.txt"),
        format!("..\\{name}\\secret.txt"),
        format!("．．/{name}/secret.txt"),
        format!("\u{2024}\u{2024}/{name}/secret.txt"),
        format!("\u{2025}/{name}/secret.txt"),
        format!("..\u{2215}{name}\u{2215}secret.txt"),
        format!("..\u{ff0f}{name}\u{ff0f}secret.txt"),
        format!("\u{202e}../{name}/secret.txt"),
        format!(".\u{200b}./{name}/secret.txt"),
        format!("\u{feff}../{name}/secret.txt"),
        format!("~/../{name}/secret.txt"),
        "~root/.ssh/id_rsa".into(),
        "$HOME/.ssh/id_rsa".into(),
        "${PWD}/../x".into(),
        format!("file://{out}/secret.txt"),
        format!("`echo {out}`/secret.txt"),
        format!(" {out}/secret.txt"),
        "C:\\Windows\\win.ini".into(),
        "\\\\server\\share".into(),
        "-rf".into(),
        "--help".into(),
    ]);
    ways
}

#[tokio::test]
async fn no_path_leads_out_of_the_workspace() {
    let (mut attacks, mut wrong) = (0, Vec::new());
    for sandbox in [ApprovalLevel::Process, ApprovalLevel::Kernel] {
        let trap = Trap::set(sandbox);
        for path in ways_out(&trap) {
            // The last ones name something inside, however they look; there they may be made.
            let literal = path.chars().any(|c| "%\\~$`\u{ff0e}\u{ff0f}\u{2024}".contains(c))
                || path.chars().any(|c| c >= '\u{200b}')
                || path.starts_with([' ', '-'])
                || path.starts_with("file:")
                || path.starts_with("C:");
            for (tool, args) in calls(&path) {
                let link = path.trim_end_matches('/');
                let is_link = trap.root().join(link).is_symlink() && !link.ends_with("..");
                let result = trap.call(tool, args).await;
                attacks += 1;
                let what = format!("{tool} {path:?}: {:#}", result.result);
                assert!(!result.result.to_string().contains(MARK), "{what}");
                let may = literal
                    || (tool == "shell:exec" && path.is_empty())
                    || (tool == "fs:delete" && is_link)
                    || (tool == "fs:exists" && result.result["exists"] == false);
                let known = ["KB0605", "KB0607", "KB0608", "KB0609", "KB0612"];
                let code = result.failure.map_or("", |failure| failure.code.as_str());
                if !may && !known.contains(&code) {
                    wrong.push(what);
                }
            }
            if trap.root().join(&path).symlink_metadata().is_err() {
                // A link was removed, which is all that removing may do.
                trap.links();
            }
            let gone = format!("{path:?} changed something");
            assert_eq!(trap.seen(), trap.before, "{gone}");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    proof::record("path guard: attacks", None, [("ways out × tools", attacks)]);
}

/// Every way of writing a place that tools may not change, there already or not.
fn protected_ways() -> Vec<String> {
    let mut ways: Vec<String> = [
        "playbooks/p.yml",
        "./playbooks/p.yml",
        "playbooks//p.yml",
        "playbooks/./p.yml",
        "src/../playbooks/p.yml",
        "src/deep/../../playbooks/new.yml",
        "to-playbooks/p.yml",
        "to-playbooks/new.yml",
        "to-playbooks/../playbooks/new.yml",
        "to-settings/kb.config.yml",
        "to-git/config",
        "to-git/hooks/pre-commit",
        "src/to-hooks/post-checkout",
        ".kb",
        ".kb/",
        ".kb/.",
        "./.kb",
        ".kb//kb.config.yml",
        "src/../.kb/",
        "new/./.kb/",
        ".kb/kb.config.yml",
        ".kb/kb.config.json",
        ".kb/settings.yml",
        ".kb/playbooks/x.yml",
        ".kb/specialists/x/specialist.yml",
        ".kb/agents/deep/er/x.md",
        "sub/.kb",
        "sub/.kb/kb.config.yml",
        "new/folder/.kb/playbooks/x.yml",
        "playbooks",
        "playbooks/new.yml",
        "playbooks/new/folder/x.yml",
        "workflows",
        "workflows/w.md",
        "agents/a.md",
        "agents/new/x.md",
        ".git",
        ".git/config",
        ".git/HEAD",
        ".git/hooks/pre-commit",
        ".git/hooks/update",
        ".git/objects/aa/bb",
        ".git/modules/x/config",
        "sub/.git",
        "sub/.git/config",
        "sub/.git/hooks/pre-commit",
        "new/.git",
        "new/.git/hooks/pre-commit",
        "src/deep/er/.git/config",
        "state/kb",
        "state/kb/kb.db",
        "state/kb/blobs/aa/bb",
        "to-state/kb/kb.db",
    ]
    .map(str::to_owned)
    .to_vec();
    // Names that some file system takes for the same: without case, with characters that are not
    // seen, in compatible forms, with what is dropped at the end.
    for (name, others) in [
        (".kb", vec![".KB", ".Kb", ".\u{212a}b", ".kb.", ".kb ", ".k\u{200d}b", "．ｋｂ"]),
        (
            ".git",
            vec![
                ".GIT",
                ".Git",
                ".g\u{200c}it",
                ".git\u{200b}",
                "\u{feff}.git",
                ".git.",
                ".git ",
                ".git . .",
                ".git::$INDEX_ALLOCATION",
                ".g\u{131}t",
                "．git",
                ".ｇｉｔ",
            ],
        ),
        (
            "playbooks",
            vec![
                "Playbooks",
                "PLAYBOOKS",
                "playboo\u{212a}s",
                "playbook\u{17f}",
                "playbooks.",
                "playbooks ",
                "play\u{200b}books",
                "\u{202e}playbooks",
                "playbooks\u{fe0f}",
                "ｐｌａｙｂｏｏｋｓ",
            ],
        ),
        ("workflows", vec!["work\u{fb02}ows", "WORK\u{fb02}OWS", "Workflow\u{17f}"]),
        ("agents", vec!["AGENTS", "agent\u{17f}", "agents\u{ad}"]),
    ] {
        for other in others {
            ways.push(format!("{other}/x"));
            ways.push(format!("{other}/kb.config.yml"));
            if name.starts_with('.') {
                ways.push(format!("src/{other}/config"));
            }
        }
    }
    ways
}

#[tokio::test]
async fn protected_places_are_not_written_however_they_are_spelt() {
    let trap = Trap::set(ApprovalLevel::Process);
    let mut attacks = 0;
    for path in protected_ways() {
        for tool in ["fs:write", "fs:edit", "fs:delete"] {
            let args = calls(&path).into_iter().find(|(name, _)| *name == tool).unwrap().1;
            let result = trap.call(tool, args).await;
            attacks += 1;
            let what = format!("{tool} {path:?}: {:#}", result.result);
            let failure = result.failure.unwrap_or_else(|| panic!("{what}"));
            assert_eq!(failure.code.as_str(), "KB0606", "{what}");
            assert_eq!(result.status, InvocationStatus::Denied, "{what}");
        }
    }
    // A file of its own with another name is written under that name alone.
    for path in ["hard.yml", "src/hard-hook", "hard-outside", "to-playbook"] {
        let write = json!({"path": path, "content": "overwritten"});
        let _ = trap.call("fs:write", write).await;
        let _ = trap.call("fs:edit", json!({"path": path, "old": "o", "new": "x"})).await;
        attacks += 2;
    }
    assert_eq!(trap.seen(), trap.before);
    for path in [
        "src/playbooks/x.yml",
        ".github/workflows/ci.yml",
        ".gitignore",
        "src/.gitattributes",
        "git/config",
        "kb/x",
        ".kbx/y",
        "playbooks.md",
        "agents.md",
        "stat/kb",
        "state/other",
    ] {
        trap.bench.ok("fs:write", json!({"path": path, "content": "x"})).await;
    }
    proof::record("path guard: protected places", None, [("spellings × tools", attacks)]);
}

/// A mount gives one folder two names, as a file system without case does.
#[tokio::test]
async fn a_protected_folder_is_known_by_what_it_is() {
    let trap = Trap::set(ApprovalLevel::Process);
    std::fs::create_dir_all(trap.root().join("state/kb")).unwrap();
    for (at, alias) in [("playbooks", "books"), ("sub/.git", "sub/git"), ("state/kb", "src/kb")] {
        let (from, to) = (trap.root().join(at), trap.root().join(alias));
        std::fs::create_dir_all(&to).unwrap();
        let Some(_mounted) = Mounted::over(&from, &to) else {
            return eprintln!("skipped: nothing may be mounted here");
        };
        for path in [format!("{alias}/new.yml"), format!("{alias}/deep/new.yml")] {
            let told = trap.bench.refused("fs:write", json!({"path": path, "content": "x"})).await;
            assert!(told.starts_with("Denied KB0606"), "{path}: {told}");
        }
        assert!(!from.join("new.yml").exists());
    }
}

/// A bind mount for as long as it lives.
struct Mounted(PathBuf);

impl Mounted {
    fn over(from: &Path, to: &Path) -> Option<Mounted> {
        let mount =
            std::process::Command::new("mount").arg("--bind").args([from, to]).finish_if_found();
        mount.is_some_and(|ended| ended.status.success()).then(|| Mounted(to.to_owned()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).finish_if_found();
    }
}

#[tokio::test]
async fn pipes_sockets_and_devices_hold_nobody_up() {
    let trap = Trap::set(ApprovalLevel::Process);
    let root = trap.root().to_owned();
    let made = std::process::Command::new("mkfifo").arg(root.join("pipe")).finish().status;
    assert!(made.success());
    std::fs::create_dir(root.join("d")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(root.join("d/.gitignore")).finish().status;
    assert!(made.success());
    let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
    symlink("pipe", root.join("to-pipe")).unwrap();
    let mut targets = vec!["pipe", "socket", "to-pipe"];
    for (name, kind, major, minor) in [("null", "c", "1", "3"), ("disk", "b", "8", "0")] {
        let node = root.join(name);
        let made = std::process::Command::new("mknod")
            .arg(&node)
            .args([kind, major, minor])
            .finish_if_found();
        if made.is_some_and(|ended| ended.status.success()) {
            targets.push(name);
        }
    }
    for target in targets {
        for (tool, args) in calls(target) {
            if matches!(tool, "fs:exists" | "fs:delete") {
                continue;
            }
            let result = trap.call(tool, args).await;
            let code = result.failure.map(|failure| failure.code.as_str());
            assert_eq!(code, Some("KB0609"), "{tool} {target}: {:#}", result.result);
        }
    }
    let found = trap.call("fs:search", json!({"pattern": "nowhere"})).await;
    assert_eq!(found.result, json!({"matches": []}));
    trap.call("fs:list", json!({"depth": 9})).await;
    let watch = kb::workspace::WorkspaceWatch::begin(
        &trap.bench.parts.workspace,
        &trap.bench.parts.redactor,
        trap.bench.parts.clock.system(),
    )
    .await;
    assert!(!watch.end().await.truncated);
    for target in ["to-pipe", "pipe", "socket"] {
        let removed = trap.call("fs:delete", json!({"path": target})).await;
        assert_eq!(removed.status, InvocationStatus::Success, "{:#}", removed.result);
    }
}

/// Somebody swaps a folder, and a file, for a link that leaves, again and again, while every tool
/// works there. The full form ends after 10,000 swaps of the folder.
#[test]
fn a_racing_swap_leads_nowhere() {
    let wanted = proof::amount("KB_SWAPS", 500, 10_000);
    let trap = Trap::set(ApprovalLevel::Process);
    let root = trap.root().to_owned();
    for (at, text) in
        [("secret.txt", "harmless"), ("victim.txt", "harmless"), ("a.txt", "harmless")]
    {
        put(&root, &format!("swap/{at}"), text);
    }
    put(&root, "file", "harmless");
    // Its content is in here by right.
    std::fs::remove_file(root.join("hard-outside")).unwrap();
    symlink(trap.outside.path(), root.join("aside")).unwrap();
    symlink(trap.outside.path().join("secret.txt"), root.join("file-aside")).unwrap();
    let race = Race::default();
    let (mut calls, mut inside) = (0, 0);
    std::thread::scope(|scope| {
        let _ending = race.ending();
        scope.spawn(|| race.swap(&root, &[("swap", "aside"), ("file", "file-aside")]));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        while race.swaps() < wanted || calls < wanted {
            let (n, worked) = runtime.block_on(round(&trap, calls));
            calls += n;
            inside += worked;
        }
    });
    assert_eq!(trap.seen(), trap.before);
    assert!(inside > 0, "the tools never won, so the race says nothing");
    let figures = [("swaps", race.swaps()), ("calls", calls), ("calls that worked", inside)];
    proof::record("path guard: racing swaps", None, figures);
}

/// Each tool once; how many calls there were, and how many of them worked.
async fn round(trap: &Trap, n: usize) -> (usize, usize) {
    let content = format!("harmless {n}");
    let calls = [
        ("fs:read", json!({"path": "swap/secret.txt"})),
        ("fs:read", json!({"path": "file"})),
        ("fs:list", json!({"path": "swap", "depth": 4})),
        ("fs:list", json!({"depth": 4})),
        ("fs:search", json!({"pattern": MARK})),
        ("fs:search", json!({"path": "swap", "pattern": MARK})),
        ("fs:exists", json!({"path": "swap/folder"})),
        ("fs:write", json!({"path": "swap/secret.txt", "content": content})),
        ("fs:write", json!({"path": "swap/new/er.txt", "content": content})),
        ("fs:write", json!({"path": "file", "content": content})),
        ("fs:edit", json!({"path": "swap/a.txt", "old": "harmless", "new": "harmless"})),
        (
            "fs:edit",
            json!({"path": "swap/secret.txt", "old": "harmless", "new": "harmless ", "all": true}),
        ),
        ("fs:delete", json!({"path": "swap/new/er.txt"})),
        ("fs:delete", json!({"path": "swap/victim.txt"})),
        ("fs:delete", json!({"path": "swap/new"})),
    ];
    let (count, mut worked) = (calls.len(), 0);
    for (tool, args) in calls {
        let result = trap.call(tool, args.clone()).await;
        let text = result.result.to_string();
        assert!(!text.contains(MARK), "{tool} {args}: {text}");
        // `folder` is outside only.
        assert!(!text.contains("folder/secret"), "{tool} {args}: {text}");
        let there = tool == "fs:exists" && result.result["exists"] == true;
        assert!(!there, "{tool} {args}: {text}");
        worked += usize::from(result.status == InvocationStatus::Success);
    }
    let workspace = &trap.bench.parts.workspace;
    let read = workspace.read_file("swap/secret.txt").unwrap_or_default();
    assert!(!String::from_utf8_lossy(&read).contains(MARK));
    let globbed = workspace.glob("swap/**/secret.txt").unwrap_or_default();
    assert!(globbed.iter().all(|path| !path.contains("folder")), "{globbed:?}");
    let manifest = workspace.manifest();
    assert!(manifest.files.keys().all(|path| !path.contains("swap/folder/")), "a scan left");
    (count + 3, worked)
}

/// Somebody who swaps pairs of names until told to stop.
#[derive(Default)]
struct Race {
    stop: std::sync::atomic::AtomicBool,
    swaps: std::sync::atomic::AtomicUsize,
}

impl Race {
    fn swap(&self, root: &Path, pairs: &[(&str, &str)]) {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use std::sync::atomic::Ordering::Relaxed;
        while !self.stop.load(Relaxed) {
            for (a, b) in pairs {
                // A tool may write one of them anew meanwhile.
                let (a, b) = (root.join(a), root.join(b));
                let _ = renameat_with(CWD, &a, CWD, &b, RenameFlags::EXCHANGE);
            }
            self.swaps.fetch_add(1, Relaxed);
        }
    }

    /// Puts a link there and takes it away again, until told to stop.
    fn toggle(&self, target: &Path, at: &Path) {
        use std::sync::atomic::Ordering::Relaxed;
        while !self.stop.load(Relaxed) {
            let put = symlink(target, at);
            // A folder that was made meanwhile is not removed so.
            let _ = std::fs::remove_file(at);
            self.swaps.fetch_add(usize::from(put.is_ok()), Relaxed);
        }
    }

    fn swaps(&self) -> usize {
        self.swaps.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Ends the race when it is dropped, also where an assertion has failed.
    fn ending(&self) -> Ending<'_> {
        Ending(self)
    }
}

struct Ending<'r>(&'r Race);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.stop.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}

/// Somebody puts a link where a tool is about to make a folder.
#[test]
fn a_link_that_comes_before_the_folder_is_made_leads_nowhere() {
    let wanted = proof::amount("KB_SWAPS", 500, 10_000);
    let trap = Trap::set(ApprovalLevel::Process);
    let fresh = trap.root().join("fresh");
    let race = Race::default();
    let (mut calls, mut made) = (0, 0);
    std::thread::scope(|scope| {
        let _ending = race.ending();
        scope.spawn(|| race.toggle(trap.outside.path(), &fresh));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        while calls < wanted {
            let args = json!({"path": "fresh/victim.txt", "content": "overwritten"});
            let result = runtime.block_on(trap.call("fs:write", args));
            calls += 1;
            made += usize::from(result.status == InvocationStatus::Success);
            // It may be the link, which is left.
            let _ = std::fs::remove_dir_all(&fresh);
        }
    });
    assert_eq!(trap.seen(), trap.before);
    assert!(made > 0, "the tool never won, so the race says nothing");
    let figures = [("links", race.swaps()), ("calls", calls), ("calls that worked", made)];
    proof::record("path guard: links before folders", None, figures);
}

/// A look around a command is led to no other place, where what changes is nobody's concern here.
#[test]
fn a_racing_swap_shows_a_command_s_watch_nothing_outside() {
    let wanted = proof::amount("KB_SWAPS", 300, 3_000);
    let trap = Trap::set(ApprovalLevel::Process);
    put(trap.outside.path(), ".git/config", MARK);
    put(trap.root(), "swap/a.txt", "harmless");
    symlink(trap.outside.path(), trap.root().join("aside")).unwrap();
    let race = Race::default();
    std::thread::scope(|scope| {
        let _ending = race.ending();
        scope.spawn(|| race.swap(trap.root(), &[("swap", "aside")]));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        for _ in 0..wanted {
            let call = call_of(&["shell:exec"], "shell:exec", json!({"argv": ["true"]}));
            let call = Call { evidence: false, ..call };
            let (result, _) = runtime.block_on(trap.bench.make(&call));
            assert!(result.failure.is_none(), "{:?} {:#}", result.changes, result.result);
        }
    });
    proof::record("path guard: swaps around commands", None, [("calls", wanted)]);
}

/// What the settings deny is not read through a name that is swapped between looking and opening.
#[test]
fn a_racing_swap_does_not_go_around_the_settings() {
    use kb::definition::{Settings, ToolSecurity};
    let wanted = proof::amount("KB_SWAPS", 500, 10_000);
    let denied_paths = vec!["**/.env".to_owned()];
    let security = ToolSecurity { denied_paths, ..ToolSecurity::default() };
    let name = serde_json::from_value(json!("file_read")).ok();
    let name = name.unwrap_or_else(|| kb::value::ToolName::new("file_read").unwrap());
    let mut settings = Settings::default();
    settings.tools.security.tools.insert(name, security);
    let files = vec![("open.txt", "harmless"), ("x/.env", MARK)];
    let bench = Setup { settings, files, ..Setup::default() }.bench();
    symlink("x/.env", bench.dir.path().join("aside")).unwrap();
    let race = Race::default();
    let mut read = 0;
    std::thread::scope(|scope| {
        let _ending = race.ending();
        scope.spawn(|| race.swap(bench.dir.path(), &[("open.txt", "aside")]));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        while race.swaps() < wanted || read < 2 * wanted {
            let result = runtime.block_on(bench.run("fs:read", json!({"path": "open.txt"})));
            assert!(!result.result.to_string().contains(MARK), "{:#}", result.result);
            read += usize::from(result.status == InvocationStatus::Success);
        }
    });
    proof::record("path guard: swaps around settings", None, [("swaps", race.swaps())]);
}
