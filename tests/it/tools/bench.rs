//! A toolbox over files in a temporary folder, for the tests of tools.

use kb::definition::{ApprovalLevel, Settings};
use kb::evidence::{Invocation, InvocationStatus};
use kb::process::{BaseEnvironment, Supervisor};
use kb::redaction::Redactor;
use kb::tool::{Approvals, Call, CallResult, Caller, Toolbox, ToolboxParts};
use kb::value::Json;
use kb::workspace::Workspace;
use std::path::Path;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// A workspace in a temporary folder, and a toolbox over it.
pub(crate) struct Bench {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) parts: ToolboxParts,
    pub(crate) tools: Toolbox,
}

/// What a test may set.
#[derive(Default)]
pub(crate) struct Setup {
    pub(crate) settings: Settings,
    pub(crate) yes: bool,
    pub(crate) sandbox: Option<ApprovalLevel>,
    pub(crate) supervisor: Option<Supervisor>,
    pub(crate) files: Vec<(&'static str, &'static str)>,
}

impl Setup {
    pub(crate) fn bench(self) -> Bench {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in &self.files {
            put(dir.path(), path, text);
        }
        let parts = ToolboxParts {
            doubles: None,
            memory: None,
            clock: kb::clock::Clock::system().into(),
            tools: Vec::new(),
            workspace: Workspace::open(dir.path(), &[], &[]).unwrap(),
            supervisor: self
                .supervisor
                .unwrap_or_else(|| Supervisor::new(BaseEnvironment::select(std::env::vars(), &[]))),
            settings: Arc::new(self.settings),
            approvals: Approvals { yes: self.yes },
            redactor: Arc::new(Redactor::default()),
            sandbox: self.sandbox.unwrap_or(ApprovalLevel::Process),
        };
        Bench::new(dir, parts)
    }
}

/// A workspace with these files and nothing set.
pub(crate) fn bench(files: &[(&'static str, &'static str)]) -> Bench {
    Setup { files: files.to_vec(), ..Setup::default() }.bench()
}

/// Writes a file with its folders, past all tools.
pub(crate) fn put(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A call by a `tool:` step.
pub(crate) fn call(tool: &str, args: Json) -> Call {
    Call {
        approved: false,
        answers: Default::default(),
        id: "c1".into(),
        tool: tool.into(),
        args,
        caller: Caller::Author,
        env: Vec::new(),
        cwd: String::new(),
        evidence: true,
    }
}

/// A call by a specialist.
pub(crate) fn call_of(allow_list: &[&str], tool: &str, args: Json) -> Call {
    let allow_list = allow_list.iter().map(|name| (*name).to_owned()).collect();
    let caller =
        Caller::Specialist { id: "helper".into(), allow_list, network: Default::default() };
    Call { caller, ..call(tool, args) }
}

impl Bench {
    pub(crate) fn new(dir: tempfile::TempDir, parts: ToolboxParts) -> Bench {
        Bench { dir, tools: Toolbox::new(parts.clone()), parts }
    }

    pub(crate) async fn make(&self, call: &Call) -> (CallResult, Invocation) {
        self.tools.call(call, &CancellationToken::new()).await
    }

    pub(crate) async fn run(&self, tool: &str, args: Json) -> CallResult {
        self.make(&call(tool, args)).await.0
    }

    /// The result of a call that must work.
    pub(crate) async fn ok(&self, tool: &str, args: Json) -> Json {
        let result = self.run(tool, args).await;
        assert_eq!(result.status, InvocationStatus::Success, "{:#}", result.result);
        result.result
    }

    /// `status code: message` of a call that must not work.
    pub(crate) async fn refused(&self, tool: &str, args: Json) -> String {
        told(&self.run(tool, args).await)
    }

    pub(crate) fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.dir.path().join(path)).unwrap()
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.dir.path().join(path).symlink_metadata().is_ok()
    }
}

/// `Status KB0000 message` of a result without success, as the caller sees it.
pub(crate) fn told(result: &CallResult) -> String {
    let failure = result.failure.as_ref().expect("it was to be refused");
    assert_eq!(result.result["error"]["code"], failure.code.as_str());
    assert_eq!(result.result["error"]["message"], failure.message.as_str());
    format!("{:?} {} {}", result.status, failure.code, failure.message)
}
