//! `mind:query`: finds parts of files, or solutions of the FAQ, by words.

use super::faq_tools::solutions;
use super::memory_tools::noted;
use crate::tool::call::{Call, CallResult, Refusal};
use crate::tool::context::{CallContext, Tool, cancelled, on_blocking_thread};
use crate::tool::run_memory::AttemptMemory;
use crate::workspace::{FileAccess, FileQuestion};
use futures::future::BoxFuture;
use kb_core::evidence::{EvidenceKind, EvidenceRef};
use kb_knowledge::{Corpus, Hit};
use kb_language::toolspec::RETRIEVER;
use kb_memory::FAQ;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Number of hits without `k`.
const HITS: usize = 5;

#[derive(Deserialize)]
struct Args {
    query: String,
    #[serde(default)]
    terms: Vec<String>,
    corpus: Option<String>,
    path: Option<String>,
    k: Option<usize>,
}

/// The implementation of `mind:query`.
pub(super) struct MindQuery;

impl Tool for MindQuery {
    fn name(&self) -> &'static str {
        RETRIEVER
    }

    fn call<'a>(
        &'a self,
        call: &'a Call,
        context: &'a CallContext<'a>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, CallResult> {
        let (memory, files, token) =
            (context.memory.clone(), context.files.clone(), cancel.clone());
        Box::pin(on_blocking_thread(call, move |args: Args| {
            if token.is_cancelled() {
                Ok(cancelled())
            } else if args.corpus.as_deref() == Some(FAQ) {
                of_faq(&args, &memory, &files)
            } else {
                of_files(&args, &files)
            }
        }))
    }
}

/// Hits with the problem as their symbol and the solution as their text.
fn of_faq(args: &Args, memory: &AttemptMemory, files: &FileAccess) -> Result<CallResult, Refusal> {
    let (entries, found) = solutions(memory, files, (&args.query, &args.terms), None)?;
    let hits = entries.iter().take(args.k.unwrap_or(HITS));
    let hits = hits.map(|entry| {
        json!({
            "ref": entry.id,
            "symbol": entry.problem,
            "state": entry.state,
            "excerpt": entry.solution,
        })
    });
    let hits: Vec<Value> = hits.collect();
    Ok(CallResult::success(noted(json!({"hits": hits, "stale": 0, "gone": 0}), &found)))
}

fn of_files(args: &Args, files: &FileAccess) -> Result<CallResult, Refusal> {
    let answer = files.ask(&FileQuestion {
        text: &args.query,
        terms: &args.terms,
        corpus: args.corpus.as_deref().and_then(Corpus::named),
        glob: args.path.as_deref(),
        limit: args.k.unwrap_or(HITS),
    })?;
    let hits: Vec<Value> = answer.hits.iter().map(hit_json).collect();
    let mut result = json!({"hits": hits, "stale": answer.stale, "gone": answer.gone});
    if let Some(why) = &answer.note {
        result["note"] = json!(format!("found by words alone: {why}"));
    } else if hits.is_empty() {
        result["note"] = json!(
            "no file has a word of the question; pass `terms` with names that the answer may contain, or use `fs:search`"
        );
    }
    Ok(CallResult { evidence: seen(&answer.hits), ..CallResult::success(result) })
}

fn hit_json(hit: &Hit) -> Value {
    json!({
        "ref": hit.reference(),
        "path": hit.path,
        "symbol": hit.symbol,
        "lines": [hit.lines.0, hit.lines.1],
        "sha256": hit.sha256.to_string(),
        "why": hit.why,
        "excerpt": hit.excerpt,
    })
}

/// The files of the hits, each once, as evidence.
fn seen(hits: &[Hit]) -> Vec<EvidenceRef> {
    let mut found: Vec<EvidenceRef> = Vec::new();
    for hit in hits {
        if !found.iter().any(|other| other.reference == hit.path) {
            found.push(EvidenceRef {
                kind: EvidenceKind::File,
                reference: hit.path.clone(),
                sha256: Some(hit.sha256),
                status: None,
            });
        }
    }
    found
}
