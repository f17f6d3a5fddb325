//! The bench: a workspace, recorded calls of real tools, and the verdict of a gate.
//!
//! The programs `npm`, `cargo` and `pytest` are replaced by scripts whose output and exit code a case
//! sets, so that no case needs a toolchain.

use crate::running::Start;
use kb::definition::{ApprovalLevel, Check, ClaimPolicy, Settings};
use kb::evidence::{Invocation, Verdict, Verification};
use kb::executor::{GateRequest, HostAccess, run_gate};
use kb::expression::{Root, Scope};
use kb::process::{BaseEnvironment, Supervisor};
use kb::redaction::Redactor;
use kb::tool::{Approvals, Call, Caller, Toolbox, ToolboxParts};
use kb::value::Json;
use kb::workspace::Workspace;
use serde_json::json;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// What happens in a case before the output is submitted.
#[derive(Debug)]
pub(super) enum Act {
    /// A call of `fs:write`.
    Write(&'static str, &'static str),
    /// A call of `fs:edit`.
    Edit(&'static str, &'static str, &'static str),
    /// A call of `fs:delete`.
    Delete(&'static str),
    /// A call of `shell:exec` with a command text.
    Shell(&'static str),
    /// A call of `shell:exec` with arguments.
    Argv(&'static [&'static str]),
    /// Exit code and output of the replaced programs from now on.
    Programs(i32, &'static str),
    /// A change that no call makes.
    Behind(&'static str, Option<&'static str>),
}

/// A text of a generated case, for an [`Act`].
pub(super) fn text(text: impl Into<String>) -> &'static str {
    text.into().leak()
}

/// One case: an operator, the files before the step, the calls, and the output.
pub(super) struct Case {
    pub(super) operator: &'static str,
    pub(super) acts: Vec<Act>,
    pub(super) output: Json,
    /// Files before the step beside [`FILES`].
    pub(super) files: Vec<(String, String)>,
    /// The checks of the gate.
    pub(super) checks: Vec<Check>,
    /// Whether the project is a git repository with everything committed.
    pub(super) git: bool,
}

impl Case {
    /// The calls, for a message.
    pub(super) fn told(&self) -> String {
        format!("{:.600}", format!("{:?}", self.acts))
    }
}

/// A case of a table.
pub(super) fn case(operator: &'static str, acts: Vec<Act>, output: Json) -> Case {
    Case { operator, acts, output, files: Vec::new(), checks: Vec::new(), git: false }
}

/// The files of each case before its step.
const FILES: [(&str, &str); 8] = [
    ("src/a.rs", "fn a() {}\n"),
    ("src/b.rs", "fn b() {}\n"),
    ("real/deep/c.rs", "fn c() {}\n"),
    ("README.md", "# Title\n"),
    (".gitignore", "build/\n"),
    ("venv/bin/activate", "VIRTUAL_ENV=venv\n"),
    ("old/one.txt", "1\n"),
    ("old/two.txt", "2\n"),
];

struct NoScope;

impl Scope for NoScope {
    fn lookup(&self, _root: &Root, _field: Option<&str>) -> Option<Arc<Json>> {
        None
    }
}

/// The host of gates and the tools in a folder.
pub(super) fn host(root: &std::path::Path) -> (HostAccess, Toolbox) {
    host_with(root, &std::env::var("PATH").unwrap_or_default())
}

fn host_with(root: &std::path::Path, path: &str) -> (HostAccess, Toolbox) {
    let vars = [("PATH".to_owned(), path.to_owned())];
    let settings = Settings { test_commands: vec!["./ci.sh".to_owned()], ..Settings::default() };
    let parts = ToolboxParts {
        doubles: None,
        memory: None,
        clock: kb::clock::Clock::system().into(),
        tools: Vec::new(),
        workspace: Workspace::open(root, &[], &[]).unwrap(),
        supervisor: Supervisor::new(BaseEnvironment::select(vars, &[])),
        settings: Arc::new(settings),
        approvals: Approvals { yes: true },
        redactor: Arc::new(Redactor::default()),
        sandbox: ApprovalLevel::Kernel,
    };
    let host = HostAccess::of(&parts);
    (host, Toolbox::new(parts))
}

/// Makes a project a git repository with everything committed.
fn commit(root: &std::path::Path) {
    let git = "git init -q && git add -A && git -c user.name=a -c user.email=a@b commit -qm a";
    let status =
        std::process::Command::new("sh").args(["-c", git]).current_dir(root).finish().status;
    assert!(status.success());
}

/// Executes a case and returns the verdict of its gate.
pub(super) async fn verdict(case: &Case) -> Verification {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("project");
    let bin = dir.path().join("bin");
    let more = case.files.iter().map(|(path, text)| (path.as_str(), text.as_str()));
    for (path, text) in FILES.into_iter().chain(more) {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    std::os::unix::fs::symlink("real", root.join("linked")).unwrap();
    std::fs::create_dir(root.join("empty")).unwrap();
    std::os::unix::fs::symlink(&root, dir.path().join("alias")).unwrap();
    std::fs::create_dir(&bin).unwrap();
    for program in ["npm", "cargo", "pytest"] {
        let path = bin.join(program);
        std::fs::write(&path, "#!/bin/sh\ncat \"${0%/*}/out\"\nexit $(cat \"${0%/*}/exit\")\n")
            .unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let programs = |code: i32, output: &str| {
        std::fs::write(bin.join("exit"), code.to_string()).unwrap();
        std::fs::write(bin.join("out"), format!("{output}\n")).unwrap();
    };
    programs(0, "");
    if case.git {
        commit(&root);
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let (host, tools) = host_with(&root, &format!("{}:{path}", bin.display()));
    let mut trace: Vec<Invocation> = Vec::new();
    for act in &case.acts {
        let (tool, args) = match act {
            Act::Write(path, content) => ("fs:write", json!({"path": path, "content": content})),
            Act::Edit(path, old, new) => ("fs:edit", json!({"path": path, "old": old, "new": new})),
            Act::Delete(path) => ("fs:delete", json!({"path": path})),
            Act::Shell(command) => ("shell:exec", json!({"command": command})),
            Act::Argv(argv) => ("shell:exec", json!({"argv": argv})),
            Act::Programs(code, output) => {
                programs(*code, output);
                continue;
            }
            Act::Behind(path, Some(content)) => {
                std::fs::write(root.join(path), content).unwrap();
                continue;
            }
            Act::Behind(path, None) => {
                std::fs::remove_file(root.join(path)).unwrap();
                continue;
            }
        };
        let call = Call {
            approved: false,
            answers: Default::default(),
            id: format!("c{}", trace.len() + 1),
            tool: tool.to_owned(),
            args,
            caller: Caller::Author,
            env: Vec::new(),
            cwd: String::new(),
            evidence: true,
        };
        let (result, invocation) = tools.call(&call, &CancellationToken::new()).await;
        let code = result.failure.map(|failure| failure.code.as_str());
        assert_ne!(code, Some("KB0603"), "{call:?}");
        trace.push(invocation);
    }
    let text = case.output.to_string();
    let output = text
        .replace("$ROOT", &root.canonicalize().unwrap().display().to_string())
        .replace("$ALIAS", &dir.path().join("alias").display().to_string());
    let output: Json = serde_json::from_str(&output).unwrap();
    let request = GateRequest {
        of: None,
        tree: None,
        tools: Default::default(),
        checks: case.checks.clone(),
        claims: ClaimPolicy::Strict,
        changes_declared: true,
        after_refuted: false,
        expect_changes: true,
        output: Arc::new(output),
        output_schema: None,
        trace,
        unwatched: false,
        env: Vec::new(),
        cwd: String::new(),
        sandboxed: None,
        confined: kb::attempt::Live::always(None),
        timeout: None,
        judged: None,
        received: None,
        excused: Vec::new(),
        asked: Default::default(),
        earlier: Vec::new(),
    };
    run_gate(request, &NoScope, &host, (&CancellationToken::new(), None), None).await
}

/// Counts of verdicts of one operator: failed, passed, inconclusive.
type Counts = (u32, u32, u32);

/// Executes a table and prints its verdicts by operator. Returns the cases with the given verdict.
pub(super) async fn table(name: &str, cases: &[Case], wrong: Verdict) -> Vec<String> {
    let mut counts: BTreeMap<&str, Counts> = BTreeMap::new();
    let mut found = Vec::new();
    for (at, case) in cases.iter().enumerate() {
        let verification = verdict(case).await;
        let counts = counts.entry(case.operator).or_default();
        match verification.verdict {
            Verdict::Failed => counts.0 += 1,
            Verdict::Passed => counts.1 += 1,
            Verdict::Inconclusive | Verdict::Unchecked => counts.2 += 1,
        }
        if verification.verdict == wrong {
            let reason = verification.reason.as_deref().unwrap_or_default();
            found.push(format!("row {at}, {}: {} → {reason}", case.operator, case.output));
        }
    }
    println!("{name:<42} refuted accepted inconclusive");
    for (operator, (refuted, accepted, inconclusive)) in &counts {
        println!("{operator:<42} {refuted:>7} {accepted:>8} {inconclusive:>12}");
    }
    let sum = |part: fn(&Counts) -> u32| counts.values().map(part).sum::<u32>();
    println!("{:<42} {:>7} {:>8} {:>12}", "all", sum(|c| c.0), sum(|c| c.1), sum(|c| c.2));
    found
}
