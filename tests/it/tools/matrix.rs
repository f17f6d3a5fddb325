//! The matrix of tools, levels and settings against the rules as the documents state them.

use super::bench::{Setup, call_of};
use crate::proof;
use kb::definition::{ApprovalLevel, Settings, ToolRules, ToolSecurity};
use kb::toolspec::{ToolLevel, ToolSpec};
use kb::value::ToolName;
use serde_json::json;

const LEVELS: [ApprovalLevel; 3] =
    [ApprovalLevel::None, ApprovalLevel::Process, ApprovalLevel::Kernel];
const CHOICES: [Option<bool>; 3] = [None, Some(false), Some(true)];

/// One cell of the matrix.
#[derive(Debug, Clone, Copy)]
struct Cell {
    sandbox: ApprovalLevel,
    unapproved_at: Option<ApprovalLevel>,
    enabled: Option<bool>,
    requires: Option<bool>,
    /// `allowed_tools`: absent, without the tool, or with it.
    allowed: Option<bool>,
    listed: bool,
    yes: bool,
    approved: bool,
}

/// The code that the documents demand; `None`: the call is permitted. Nothing is permitted that no rule
/// allows; critical tools need the sandbox or a person, others a person only where a rule says so.
fn expected(spec: &ToolSpec, cell: Cell) -> Option<&'static str> {
    let allowed = cell.allowed != Some(false) || spec.always_allowed;
    if !allowed || cell.enabled == Some(false) {
        return Some("KB0601");
    }
    if !cell.listed && !spec.always_allowed {
        return Some("KB0601");
    }
    let confined = cell.sandbox >= cell.unapproved_at.unwrap_or(ApprovalLevel::Kernel);
    let critical = spec.level == ToolLevel::Critical && !confined;
    let asks = cell.requires == Some(true) || critical;
    (asks && !cell.yes && !cell.approved).then_some("KB0604")
}

fn settings(tool: &str, cell: Cell) -> Settings {
    let name = |text: &str| ToolName::new(text).unwrap();
    let security = ToolSecurity {
        enabled: cell.enabled,
        requires_approval: cell.requires,
        ..ToolSecurity::default()
    };
    let mut settings = Settings::default();
    settings.tools.security = ToolRules {
        tools: [(name(tool), security)].into(),
        allowed: cell.allowed.map(|with| if with { vec![name(tool)] } else { vec![] }),
    };
    settings.sandbox.critical_unapproved_at = cell.unapproved_at.unwrap_or_default();
    settings
}

fn cells() -> impl Iterator<Item = Cell> {
    let mut cells = Vec::new();
    for sandbox in LEVELS {
        for unapproved_at in [None].into_iter().chain(LEVELS.map(Some)) {
            for enabled in CHOICES {
                for requires in CHOICES {
                    for allowed in CHOICES {
                        for bits in 0..8u8 {
                            let (listed, yes) = (bits & 1 > 0, bits & 2 > 0);
                            let approved = bits & 4 > 0;
                            cells.push(Cell {
                                sandbox,
                                unapproved_at,
                                enabled,
                                requires,
                                allowed,
                                listed,
                                yes,
                                approved,
                            });
                        }
                    }
                }
            }
        }
    }
    cells.into_iter()
}

#[tokio::test]
async fn every_tool_level_and_setting_gives_what_the_documents_say() {
    let all = cells().count();
    // The quick form takes every seventh cell, which is no divisor of any of the dimensions.
    let step = if proof::is_full() { 1 } else { 7 };
    let (mut seen, mut denied, mut asked) = (0u64, 0u64, 0u64);
    for (at, cell) in cells().enumerate().filter(|(at, _)| at % step == 0) {
        let bench = Setup::default().bench();
        for spec in bench.tools.tools().tools() {
            let own = Setup {
                settings: settings(&spec.name, cell),
                yes: cell.yes,
                sandbox: Some(cell.sandbox),
                ..Setup::default()
            }
            .bench();
            let list: &[&str] = if cell.listed { &[&*spec.name] } else { &["fs:nothing"] };
            // An argument that no tool has: what is permitted fails before it does anything.
            let mut call = call_of(list, &spec.name, json!({"noSuchArgument": 1}));
            call.approved = cell.approved;
            let (result, _) = own.make(&call).await;
            let code = result.result["error"]["code"].as_str().unwrap_or_default().to_owned();
            let expected = expected(spec, cell);
            let what = format!("cell {at} of {all}, `{}`: {cell:?}: {}", &spec.name, result.result);
            assert_eq!(code, expected.unwrap_or("KB0603"), "{what}");
            // The same rule decides whether a person is asked.
            let plain = kb::tool::Call { approved: false, ..call };
            let asks = own.tools.approval(&kb::tool::Call { args: fitting(&spec.name), ..plain });
            let wants = expected_without_approval(spec, cell) == Some("KB0604");
            assert_eq!(asks.is_some(), wants, "{what}");
            seen += 1;
            denied += u64::from(expected == Some("KB0601"));
            asked += u64::from(expected == Some("KB0604"));
        }
    }
    assert!(denied > 0 && asked > 0 && seen > denied + asked);
    proof::record(
        "tool levels: tool × level × settings",
        None,
        [("cells", seen), ("denied", denied), ("need approval", asked)],
    );
}

fn expected_without_approval(spec: &ToolSpec, cell: Cell) -> Option<&'static str> {
    expected(spec, Cell { approved: false, ..cell })
}

/// Arguments that match the schema of a tool.
fn fitting(tool: &str) -> serde_json::Value {
    match tool {
        "fs:write" => json!({"path": "a", "content": ""}),
        "fs:edit" => json!({"path": "a", "old": "x", "new": "y"}),
        "fs:search" => json!({"pattern": "x"}),
        "fs:list" | "code:outline" | "mind:outline" => json!({}),
        "code:find-definition" | "code:find-usages" => json!({"name": "x"}),
        "mind:query" => json!({"query": "x"}),
        "shell:exec" => json!({"command": "true"}),
        "http:request" | "http:fetch" => json!({"url": "http://127.0.0.1/"}),
        "git:commit" => json!({"paths": ["a"], "message": "x"}),
        "memory:search" | "knowledge_query" => json!({"query": "x"}),
        "memory:propose" => json!({"kind": "fact", "text": "x"}),
        "memory:feedback" => json!({"id": "m-x", "outcome": "helped"}),
        "knowledge_contribute" => json!({"content": "x", "type": "fact"}),
        "faq:search" => json!({"query": "x"}),
        "faq:write" => json!({"problem": "x", "solution": "y", "category": "knowledge"}),
        "faq:delete" | "faq:mark-helpful" | "faq:mark-not-helpful" => json!({"id": "x"}),
        "publish" => json!({"channel": "x", "message": "y"}),
        "subscribe" | "ack" | "unsubscribe" => json!({"channel": "x"}),
        "blackboard_write" => json!({"key": "x", "value": "y"}),
        "blackboard_read" => json!({}),
        "delegate" => json!({"agent": "x", "task": "y"}),
        "artifact:get" => json!({"id": "x"}),
        "output:read" => json!({"ref": "x"}),
        _ => json!({"path": "a"}),
    }
}
