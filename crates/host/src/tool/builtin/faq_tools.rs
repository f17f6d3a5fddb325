//! The tools of the FAQ, whose entries are entries of the memory.

use super::memory_tools::{MemoryTool, failed, noted, off, propose_anchored};
use crate::tool::call::{CallResult, Refusal};
use crate::tool::context::Tool;
use crate::tool::entry_search::FoundEntries;
use crate::tool::run_memory::{AttemptMemory, Proposed};
use crate::workspace::FileAccess;
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, Json};
use kb_memory::{Admitted, Anchor, FAQ, FaqCategory, FaqEntry, Feedback, Query};
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

/// The tools of the FAQ, in the order of the table of tools.
pub(super) fn all() -> [Arc<dyn Tool>; 5] {
    [
        MemoryTool::entry("faq:search", search_entries),
        MemoryTool::entry("faq:write", write_entry),
        MemoryTool::entry("faq:delete", delete_entry),
        MemoryTool::entry("faq:mark-helpful", |args, memory, _| {
            mark(&args, memory, Feedback::Helped)
        }),
        MemoryTool::entry("faq:mark-not-helpful", |args, memory, _| {
            mark(&args, memory, Feedback::DidNotHelp)
        }),
    ]
}

#[derive(Deserialize)]
struct Search {
    query: String,
    category: Option<String>,
    limit: Option<usize>,
}

fn search_entries(
    args: Search,
    memory: &AttemptMemory,
    files: &FileAccess,
) -> Result<CallResult, Refusal> {
    let own = args.category.as_deref().and_then(FaqCategory::parse);
    let (found, answer) = solutions(memory, files, (&args.query, &[]), own)?;
    let shown: Vec<Json> = found
        .iter()
        .take(args.limit.unwrap_or(5))
        .map(|entry| {
            json!({
                "id": entry.id,
                "problem": entry.problem,
                "solution": entry.solution,
                "category": entry.category,
                "tags": entry.tags,
                "relatedFiles": entry.related_files,
                "state": entry.state,
            })
        })
        .collect();
    Ok(CallResult::success(noted(json!({ "entries": shown }), &answer)))
}

/// The entries of the FAQ for a question with further words, those of its category first, and what the search said.
pub(super) fn solutions(
    memory: &AttemptMemory,
    files: &FileAccess,
    (text, terms): (&str, &[String]),
    category: Option<FaqCategory>,
) -> Result<(Vec<FaqEntry>, FoundEntries), Refusal> {
    let tags = [FAQ.to_owned()];
    let query = Query { text, terms, tags: &tags, limit: 20, ..Query::default() };
    let answer = memory.search(&files.workspace, &query).ok_or_else(off)?.map_err(failed)?;
    let preferred = category.or_else(|| FaqCategory::of_question(text));
    // Counts of uses are for people.
    let mut found: Vec<FaqEntry> =
        answer.hits.iter().filter_map(|hit| FaqEntry::of(&hit.entry, (0, 0))).collect();
    found.sort_by_key(|entry| preferred.is_some_and(|own| own != entry.category));
    Ok((found, answer))
}

#[derive(Deserialize)]
struct Write {
    problem: String,
    solution: String,
    category: String,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default, rename = "relatedFiles")]
    related_files: Vec<String>,
}

fn write_entry(
    args: Write,
    memory: &AttemptMemory,
    files: &FileAccess,
) -> Result<CallResult, Refusal> {
    let category = FaqCategory::parse(&args.category).ok_or_else(|| {
        let message = "`category` is knowledge, experience or troubleshooting";
        Refusal::failed(Failure::new(Code::BAD_ARGUMENTS, message))
    })?;
    let anchor = |path: String| Anchor { path, sha256: None, excerpt: None };
    // The files are as noted once the work was accepted: that makes an entry of a trusted origin verified.
    let checks = args.related_files.iter().map(|path| json!({"file": {"path": path}})).collect();
    let proposed = Proposed {
        kind: category.kind(),
        text: args.solution,
        subject: Some(args.problem),
        tags: category.tags(args.tags),
        anchors: args.related_files.into_iter().map(anchor).collect(),
        checks,
    };
    let admitted = propose_anchored(proposed, memory, files)?;
    let (entry, duplicate) = (admitted.entry(), matches!(admitted, Admitted::Duplicate(_)));
    let state = entry.state.as_str();
    Ok(CallResult::success(json!({"id": entry.id, "state": state, "duplicate": duplicate})))
}

#[derive(Deserialize)]
struct Id {
    id: String,
}

fn delete_entry(args: Id, memory: &AttemptMemory, _: &FileAccess) -> Result<CallResult, Refusal> {
    let done = memory.forget_own(&args.id).ok_or_else(off)?.map_err(failed)?;
    if done {
        return Ok(CallResult::success(json!({ "recorded": true })));
    }
    let failure = Failure::new(Code::MEMORY_REFUSED, "another run or a person noted this solution")
        .help("say that it did not help: `faq:mark-not-helpful`");
    Err(Refusal::denied(failure))
}

fn mark(args: &Id, memory: &AttemptMemory, feedback: Feedback) -> Result<CallResult, Refusal> {
    memory.faq_feedback(&args.id, feedback).ok_or_else(off)?.map_err(failed)?;
    Ok(CallResult::success(json!({ "recorded": true })))
}
