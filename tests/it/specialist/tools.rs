//! The loop with the real toolbox over a real folder.

use super::bench::*;
use kb::definition::{ApprovalLevel, Settings};
use kb::evidence::Record;
use kb::process::{BaseEnvironment, Supervisor};
use kb::redaction::Redactor;
use kb::tool::{Approvals, Toolbox, ToolboxParts};
use kb::value::ToolName;
use kb::workspace::Workspace;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

fn toolbox(root: &Path) -> Arc<Toolbox> {
    Arc::new(Toolbox::new(ToolboxParts {
        workspace: Workspace::open(root, &[], &[]).unwrap(),
        supervisor: Supervisor::new(BaseEnvironment::select(std::env::vars(), &[])),
        settings: Arc::new(Settings::default()),
        approvals: Approvals { yes: false },
        redactor: Arc::new(Redactor::default()),
        sandbox: ApprovalLevel::Process,
    }))
}

fn on_disk(root: &Path, replies: impl IntoIterator<Item = Reply>) -> Bench {
    let tools = ["fs:read", "fs:write"];
    let bench = bench(replies)
        .with(|s| s.tools = tools.iter().map(|name| ToolName::new(name).unwrap()).collect());
    Bench { toolbox: Some(toolbox(root)), ..bench }
}

#[tokio::test]
async fn files_are_written_and_the_evidence_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let write = call("fs:write", json!({"path": "src/a.txt", "content": "hello"}));
    let ran = on_disk(dir.path(), [write, done()]).run().await;
    assert_eq!(ran.end(), DONE);
    assert_eq!(std::fs::read_to_string(dir.path().join("src/a.txt")).unwrap(), "hello");
    let Record::ToolResult { invocation, .. } = &ran.records[2] else { panic!() };
    assert_eq!(invocation.changes[0].path, "src/a.txt");
    assert_eq!(ran.tools_of(1), ["fs:read", "fs:write", "output:read", "submit_output"]);
}

#[tokio::test]
async fn a_cut_result_can_be_read_on_to_its_end() {
    let dir = tempfile::tempdir().unwrap();
    let text = format!("{}THE END", "line\n".repeat(300));
    std::fs::write(dir.path().join("long.txt"), text).unwrap();
    let read_on = |offset: u32| call("output:read", json!({"ref": "call_1_1_1", "offset": offset}));
    let replies =
        [call("fs:read", json!({"path": "long.txt"})), read_on(800), read_on(1500), done()];
    let ran = on_disk(dir.path(), replies).run().await;
    assert_eq!(ran.end(), DONE);
    assert!(ran.sent(2).contains("\"ref\": \"call_1_1_1\", \"offset\": 800"), "{}", ran.sent(2));
    assert!(!ran.sent(2).contains("THE END"));
    assert!(ran.sent(4).contains("THE END"), "{}", ran.sent(4));
}

#[tokio::test]
async fn calls_outside_of_whitelist_and_workspace_are_denied_and_do_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("work");
    std::fs::create_dir(&root).unwrap();
    std::fs::write(root.join("keep.txt"), "keep").unwrap();
    let replies = [
        call("fs:delete", json!({"path": "keep.txt"})),
        call("fs:write", json!({"path": "../out.txt", "content": "out"})),
        call("no:tool", json!({})),
        done(),
    ];
    let ran = on_disk(&root, replies).run().await;
    assert_eq!(ran.end(), "policy_denied KB0508");
    assert!(
        ran.sent(2).contains("`fs:delete` is not in the allow-list of `tester`"),
        "{}",
        ran.sent(2)
    );
    assert!(root.join("keep.txt").exists());
    assert!(!dir.path().join("out.txt").exists());
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_explained_to_the_model() {
    let dir = tempfile::tempdir().unwrap();
    let ran = on_disk(dir.path(), [call("fs:read", json!({"file": "a"})), done()]).run().await;
    assert_eq!(ran.end(), DONE);
    assert!(
        ran.sent(2).contains("did you mean `path`?") || ran.sent(2).contains("`path` is missing"),
        "{}",
        ran.sent(2)
    );
}
