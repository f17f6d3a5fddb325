//! The tools of the memory. Their calls read and write the database on a blocking thread.

use crate::tool::call::{Call, CallResult, Refusal};
use crate::tool::context::{CallContext, Tool, on_blocking_thread};
use crate::tool::entry_check::{anchored, require_readable};
use crate::tool::entry_search::FoundEntries;
use crate::tool::run_memory::{AttemptMemory, Proposed};
use crate::workspace::FileAccess;
use futures::future::BoxFuture;
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, Json, Timestamp, cut_to_chars};
use kb_language::definition::load_checks;
use kb_memory::{Admitted, Anchor, Entry, Feedback, Kind, MemoryError, Query, State};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// What the tools of agent files answer while memory is off.
const OFF: &str = "Error: Vector memory is not available. Enable it in Settings > Memory.";
/// Characters of a contribution that its answer repeats.
const REPEATED: usize = 80;

/// A tool whose calls need the memory of the attempt and the files of the project.
pub(super) struct MemoryTool<A> {
    name: &'static str,
    execute: Execute<A>,
}

type Execute<A> = fn(A, &AttemptMemory, &FileAccess) -> Result<CallResult, Refusal>;

impl<A: DeserializeOwned + Send + 'static> MemoryTool<A> {
    /// A tool that executes this function; its arguments match the schema of the tool.
    pub(super) fn entry(name: &'static str, execute: Execute<A>) -> Arc<dyn Tool> {
        Arc::new(MemoryTool { name, execute })
    }
}

impl<A: DeserializeOwned + Send + 'static> Tool for MemoryTool<A> {
    fn name(&self) -> &'static str {
        self.name
    }

    /// What a search returns is heard with the trust of the entries.
    fn brings_text(&self) -> bool {
        false
    }

    fn call<'a>(
        &'a self,
        call: &'a Call,
        context: &'a CallContext<'a>,
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, CallResult> {
        let (execute, memory, files) =
            (self.execute, context.memory.clone(), context.files.clone());
        Box::pin(on_blocking_thread(call, move |args: A| execute(args, &memory, &files)))
    }
}

/// The tools of the memory, in the order of the table of tools.
pub(super) fn all() -> [Arc<dyn Tool>; 5] {
    [
        MemoryTool::entry("memory:search", search_entries),
        MemoryTool::entry("memory:propose", propose_entry),
        MemoryTool::entry("memory:feedback", report),
        MemoryTool::entry("knowledge_query", query_knowledge),
        MemoryTool::entry("knowledge_contribute", contribute_knowledge),
    ]
}

#[derive(Deserialize)]
struct Search {
    query: String,
    #[serde(default)]
    terms: Vec<String>,
    #[serde(default)]
    kinds: Vec<String>,
    #[serde(default)]
    tags: Vec<String>,
    limit: Option<usize>,
}

fn search_entries(
    args: Search,
    memory: &AttemptMemory,
    files: &FileAccess,
) -> Result<CallResult, Refusal> {
    let kinds = args.kinds.iter().map(|name| kind(name)).collect::<Result<Vec<Kind>, _>>()?;
    let query = Query {
        text: &args.query,
        terms: &args.terms,
        kinds: &kinds,
        tags: &args.tags,
        limit: args.limit.unwrap_or(15),
        ..Query::default()
    };
    let found = memory.search(&files.workspace, &query).ok_or_else(off)?.map_err(failed)?;
    let entries: Vec<Json> = found.hits.iter().map(|hit| shown(&hit.entry)).collect();
    Ok(CallResult::success(noted(json!({ "entries": entries }), &found)))
}

/// The answer of a search, with the reason if it was by words alone.
pub(super) fn noted(mut answer: Json, found: &FoundEntries) -> Json {
    if let Some(why) = &found.note {
        answer["note"] = json!(format!("found by words alone: {why}"));
    }
    answer
}

/// An entry as a model is shown it.
fn shown(entry: &Entry) -> Json {
    let files: Vec<&str> = entry.anchors.iter().map(|anchor| anchor.path.as_str()).collect();
    let mut shown = json!({
        "id": entry.id,
        "kind": entry.kind.as_str(),
        "state": entry.state.as_str(),
        "text": entry.text,
        "tags": entry.tags,
        "from": entry.author,
        "created": entry.created.rfc3339(),
        "checked": entry.last_verified.map(Timestamp::rfc3339),
        "files": files,
    });
    if let Some(subject) = &entry.subject {
        shown["subject"] = json!(subject);
    }
    shown
}

#[derive(Deserialize)]
struct Propose {
    kind: String,
    text: String,
    subject: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    anchors: Vec<Anchor>,
    #[serde(default)]
    checks: Vec<Json>,
}

fn propose_entry(
    args: Propose,
    memory: &AttemptMemory,
    files: &FileAccess,
) -> Result<CallResult, Refusal> {
    if !memory.is_on() {
        return Err(off());
    }
    let kind = kind(&args.kind)?;
    load_checks(&args.checks).map_err(|why| refused(&why, "use `file` checks of a gate"))?;
    let proposed = Proposed {
        kind,
        text: args.text,
        subject: args.subject,
        tags: args.tags,
        anchors: args.anchors,
        checks: args.checks,
    };
    let admitted = propose_anchored(proposed, memory, files)?;
    let (duplicate, conflicts) = match &admitted {
        Admitted::New(_) => (false, Vec::new()),
        Admitted::Duplicate(_) => (true, Vec::new()),
        Admitted::Conflict(_, others) => (false, others.clone()),
    };
    let entry = admitted.entry();
    Ok(CallResult::success(json!({
        "id": entry.id,
        "state": entry.state.as_str(),
        "duplicate": duplicate,
        "conflicts": conflicts,
    })))
}

/// Proposes an entry, with the digests that the files of its anchors have now.
pub(super) fn propose_anchored(
    proposed: Proposed,
    memory: &AttemptMemory,
    files: &FileAccess,
) -> Result<Admitted, Refusal> {
    require_readable(files, &proposed.checks)?;
    let Proposed { anchors, .. } = &proposed;
    let anchors = anchors.iter().map(|anchor| anchored(files, anchor.clone()));
    let anchors = anchors.collect::<Result<_, Refusal>>()?;
    memory.propose(Proposed { anchors, ..proposed }).ok_or_else(off)?.map_err(failed)
}

#[derive(Deserialize)]
struct Report {
    id: String,
    outcome: String,
}

fn report(args: Report, memory: &AttemptMemory, _: &FileAccess) -> Result<CallResult, Refusal> {
    let outcome = if args.outcome == Feedback::Helped.as_str() {
        Feedback::Helped
    } else {
        Feedback::DidNotHelp
    };
    memory.feedback(&args.id, outcome).ok_or_else(off)?.map_err(failed)?;
    Ok(CallResult::success(json!({ "recorded": true })))
}

#[derive(Deserialize)]
struct Question {
    query: String,
    limit: Option<f64>,
}

fn query_knowledge(
    args: Question,
    memory: &AttemptMemory,
    files: &FileAccess,
) -> Result<CallResult, Refusal> {
    if !memory.is_on() {
        return Ok(answer(OFF));
    }
    if args.query.trim().is_empty() {
        return Ok(answer("Error: query is required."));
    }
    let limit = args.limit.map_or(10, |limit| limit as usize);
    let query = Query { text: &args.query, limit, ..Query::default() };
    let hits = memory.search(&files.workspace, &query).ok_or_else(off)?.map_err(failed)?.hits;
    if hits.is_empty() {
        return Ok(answer("No shared knowledge found matching your query."));
    }
    let lines = hits.iter().enumerate().map(|(at, hit)| {
        let Entry { kind, text, tags, author, state, .. } = &hit.entry;
        let unconfirmed = if *state == State::Candidate { " | Not confirmed" } else { "" };
        let (number, kind, tags) = (at + 1, kind.as_str(), tags.join(", "));
        format!("{number}. [{kind}] {text}\n   Tags: {tags} | From: {author}{unconfirmed}")
    });
    Ok(answer(&lines.collect::<Vec<_>>().join("\n---\n")))
}

#[derive(Deserialize)]
struct Contribution {
    content: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    tags: String,
}

fn contribute_knowledge(
    args: Contribution,
    memory: &AttemptMemory,
    _: &FileAccess,
) -> Result<CallResult, Refusal> {
    if !memory.is_on() {
        return Ok(answer(OFF));
    }
    if args.content.trim().is_empty() {
        return Ok(answer("Error: content is required."));
    }
    let tags: Vec<String> = args.tags.split(',').map(|tag| tag.trim().to_lowercase()).collect();
    let tags: Vec<String> = tags.into_iter().filter(|tag| !tag.is_empty()).collect();
    let proposed = Proposed {
        kind: kind(&args.kind)?,
        text: args.content.clone(),
        subject: None,
        tags: tags.clone(),
        anchors: Vec::new(),
        checks: Vec::new(),
    };
    let admitted = memory.propose(proposed).ok_or_else(off)?.map_err(failed)?;
    Ok(match admitted {
        Admitted::Duplicate(_) => answer(
            "This knowledge already exists in the shared graph (near-duplicate detected). No action taken.",
        ),
        Admitted::New(entry) | Admitted::Conflict(entry, _) => {
            let long = entry.text.chars().count() > REPEATED;
            let start: String = entry.text.chars().take(REPEATED).collect();
            let dots = if long { "..." } else { "" };
            let tags = if tags.is_empty() { "none".to_owned() } else { tags.join(", ") };
            let kind = &args.kind;
            answer(&format!(
                "Contributed to shared knowledge: [{kind}] \"{start}{dots}\" with tags: {tags}"
            ))
        }
    })
}

fn answer(text: &str) -> CallResult {
    CallResult::success(json!({ "answer": text }))
}

fn kind(name: &str) -> Result<Kind, Refusal> {
    Kind::parse(name).ok_or_else(|| {
        let kinds = Kind::ALL.map(Kind::as_str).join("`, `");
        let name = cut_to_chars(name, 40);
        refused(&format!("`{name}` is no kind of entry"), &format!("use one of `{kinds}`"))
    })
}

pub(super) fn off() -> Refusal {
    let failure = Failure::new(Code::MEMORY_OFF, "memory is off or cannot be used in this run");
    Refusal::failed(failure.help("the settings switch it on: `memory: {enabled: true}`"))
}

fn refused(message: &str, help: &str) -> Refusal {
    Refusal::failed(Failure::new(Code::MEMORY_REFUSED, message).help(help))
}

pub(super) fn failed(error: MemoryError) -> Refusal {
    let failure = match &error {
        MemoryError::Refused { message, help } => {
            Failure::new(Code::MEMORY_REFUSED, message.as_str()).help(help.as_str())
        }
        MemoryError::Unknown(_) => Failure::new(Code::UNKNOWN_REFERENCE, error.to_string())
            .help("copy the id of an entry that was shown"),
        MemoryError::Database(_) => Failure::new(Code::MEMORY_UNUSABLE, error.to_string()),
    };
    Refusal::failed(failure)
}
