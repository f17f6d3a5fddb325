//! Parts that several public forms share: usage, errors, checks, file changes.

use super::verdicts::VerdictsView;
use crate::evidence::{
    CacheHit, Change, ChangeKind, CheckDetail, EvidenceRef, FileKind, MergedTree, Payload,
    RequestDigests, Verdict,
};
use crate::run::{KeptResult, hints};
use kb_base::diagnostic::Code;
use kb_base::value::{Digest, Failure, Json, OutcomeKind, RecoveryHint, Usage};
use kb_language::definition::Step;
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::Arc;

/// Usage of models and tools. `costUsd` is null if the price of a model is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageView {
    /// Number of tokens in the prompts.
    pub prompt_tokens: u64,
    /// Number of tokens in the responses.
    pub completion_tokens: u64,
    /// Number of prompt tokens that the provider had cached.
    pub cached_tokens: u64,
    /// Number of prompt tokens that the provider wrote to its cache.
    pub cache_write_tokens: u64,
    /// Number of response tokens that were reasoning; part of `completionTokens`.
    pub reasoning_tokens: u64,
    /// Cost in US dollars.
    pub cost_usd: Option<f64>,
    /// Number of model calls.
    pub model_calls: u32,
    /// Number of tool calls.
    pub tool_calls: u32,
}

impl From<Usage> for UsageView {
    fn from(usage: Usage) -> Self {
        UsageView {
            prompt_tokens: usage.prompt_tokens,
            completion_tokens: usage.completion_tokens,
            cached_tokens: usage.cached_tokens,
            cache_write_tokens: usage.cache_write_tokens,
            reasoning_tokens: usage.reasoning_tokens,
            cost_usd: usage.cost_usd.map(|cost| cost.usd()),
            model_calls: usage.model_calls,
            tool_calls: usage.tool_calls,
        }
    }
}

/// An error; `kb explain CODE` shows the page of its code.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErrorView {
    /// A stable code such as `KB0502`.
    #[schemars(with = "String")]
    pub code: Code,
    /// Description of the problem.
    pub message: String,
    /// The fix, if one is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// Details for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Json>,
    /// What can follow the failure of a step: `retry`, `escalate_model`, `change_strategy`,
    /// `switch_specialist` or `ask_user`, each with a note.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub suggested_next: Vec<RecoveryHint>,
}

impl From<&Failure> for ErrorView {
    fn from(failure: &Failure) -> Self {
        let Failure { code, message, help, details } = failure.clone();
        let details = details.map(|details| *details);
        ErrorView { code, message, help, details, suggested_next: Vec::new() }
    }
}

impl ErrorView {
    /// The failure of a step whose last attempt had this outcome.
    pub(super) fn of_step(step: &Step, outcome: Option<OutcomeKind>, failure: &Failure) -> Self {
        ErrorView { suggested_next: hints(step, outcome, failure), ..ErrorView::from(failure) }
    }

    /// The error in the result of a tool, if it has the form `{error: {code, message, help}}`.
    pub(super) fn of_result(result: &Json) -> Option<ErrorView> {
        let error = result.get("error")?;
        let text = |key: &str| error.get(key).and_then(Json::as_str).map(str::to_owned);
        let code = Code::find(error.get("code")?.as_str()?).unwrap_or(Code::OTHER);
        let message = text("message")?;
        Some(ErrorView {
            code,
            message,
            help: text("help"),
            details: None,
            suggested_next: Vec::new(),
        })
    }
}

/// The earlier run that executed a step instance whose result was kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KeptView {
    /// Id of the run.
    pub run: String,
    /// Name of the step instance in that run.
    pub instance: String,
    /// Number of the event with which it ended there.
    pub seq: u64,
    /// The verdicts of the gates of its child run; absent without gates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdicts: Option<VerdictsView>,
}

impl From<&KeptResult> for KeptView {
    fn from(kept: &KeptResult) -> Self {
        let KeptResult { run, instance, seq, child_verdicts, .. } = kept;
        let verdicts = child_verdicts.some().map(VerdictsView::from);
        KeptView { run: run.to_string(), instance: instance.clone(), seq: *seq, verdicts }
    }
}

/// What became of one worktree or copy of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MergedView {
    /// The step or item, such as `implement[src/a.rs]`.
    pub instance: String,
    /// The paths that were written into the project, relative to it; those of folders end with `/`. With conflicts,
    /// those that a merge wrote before it was interrupted.
    pub files: Vec<String>,
    /// The commits that were added to the branch of the project, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<String>,
    /// The paths that both sides changed; nothing else of this tree was merged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<String>,
    /// The folder with the files of the step, if it was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
}

impl From<&MergedTree> for MergedView {
    fn from(tree: &MergedTree) -> Self {
        let MergedTree { instance, files, commits, conflicts, kept } = tree.clone();
        MergedView { instance, files, commits, conflicts, kept }
    }
}

/// The use of a stored result in place of the work of an attempt.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CacheHitView {
    /// Digest of the key; `kb cache show KEY` shows the result.
    pub key: String,
    /// Id of the run that made the result.
    pub run_from: String,
    /// Name of the step instance that made the result.
    pub instance_from: String,
    /// Time at which the result was stored, in RFC 3339.
    pub stored_at: String,
    /// Tokens and cost of the attempt that made the result.
    pub saved: UsageView,
    /// Duration of the attempt that made the result, in milliseconds.
    pub saved_ms: u64,
    /// Number of files of the result.
    pub files: u32,
    /// The files whose content was not that of the result and was restored.
    pub restored: Vec<String>,
    /// Whether the result is that of the run which this one continues, and not one of the cache.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub kept: bool,
}

impl From<&CacheHit> for CacheHitView {
    fn from(hit: &CacheHit) -> Self {
        CacheHitView {
            key: hit.key.to_string(),
            run_from: hit.run.to_string(),
            instance_from: hit.instance.clone(),
            stored_at: hit.at.rfc3339(),
            saved: hit.usage.into(),
            saved_ms: hit.duration_ms,
            files: hit.files,
            restored: hit.restored.clone(),
            kept: hit.kept,
        }
    }
}

/// Digests of the parts of a model request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RequestView {
    /// Digest of the system prompt.
    #[schemars(with = "String")]
    pub prompt: Digest,
    /// Digest of the tools with their schemas.
    #[schemars(with = "String")]
    pub tools: Digest,
    /// Digest of the response schema, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub schema: Option<Digest>,
    /// Digest of the model parameters.
    #[schemars(with = "String")]
    pub model: Digest,
}

impl From<&RequestDigests> for RequestView {
    fn from(digests: &RequestDigests) -> Self {
        let RequestDigests { prompt, tools, schema, model } = digests.clone();
        RequestView { prompt, tools, schema, model }
    }
}

/// A reference to a value that is too large for an event. The blob is its canonical JSON text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BlobRef {
    /// Digest of the blob.
    #[schemars(with = "String")]
    pub sha256: Digest,
    /// Size in bytes.
    pub bytes: u64,
}

/// A value, or the reference to its blob.
pub(super) fn inline_or_blob(payload: Option<&Payload>) -> (Option<Arc<Json>>, Option<BlobRef>) {
    match payload {
        None => (None, None),
        Some(Payload::Inline(value)) => (Some(value.clone()), None),
        Some(Payload::Blob { digest, bytes }) => {
            (None, Some(BlobRef { sha256: *digest, bytes: *bytes }))
        }
    }
}

/// What the process of a step wrote, in whole lines.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutputView {
    /// Parts in order: `{"out": TEXT}` of stdout and `{"err": TEXT}` of stderr, with secrets masked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Arc<Json>>,
    /// The blob of a large list of parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_blob: Option<BlobRef>,
    /// Bytes before these that are not kept; left out if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub omitted: Option<u64>,
}

/// The result of one check of a gate.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckView {
    /// Name of the check.
    pub check: String,
    /// The result of the check.
    #[schemars(with = "String", extend("enum" = ["passed", "failed", "inconclusive", "unchecked"]))]
    pub verdict: Verdict,
    /// Whether it passed with a warning, like a refuted claim under `claims: warn`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub warning: bool,
    /// Reason of the verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Observations, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Json>,
}

impl From<&CheckDetail> for CheckView {
    fn from(detail: &CheckDetail) -> Self {
        CheckView {
            check: detail.check.clone(),
            verdict: detail.verdict,
            warning: detail.warning,
            reason: detail.reason.clone(),
            evidence: detail.evidence.clone(),
        }
    }
}

/// A reference from a tool call to something outside the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EvidenceView {
    /// Kind: `file`, `http`, `receipt` or `probe`.
    pub kind: &'static str,
    /// Path, URL or id.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Digest of the content.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub sha256: Option<Digest>,
    /// The status code of an HTTP answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
}

impl From<&EvidenceRef> for EvidenceView {
    fn from(evidence: &EvidenceRef) -> Self {
        let EvidenceRef { kind, reference, sha256, status } = evidence.clone();
        EvidenceView { kind: kind.as_str(), reference, sha256, status }
    }
}

/// A file that changed during a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    /// Path relative to the workspace.
    pub path: String,
    /// Kind of the change.
    #[schemars(with = "String", extend("enum" = ["created", "modified", "deleted"]))]
    #[serde(serialize_with = "change_name")]
    pub change: ChangeKind,
    /// Digest of the new content.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub sha256: Option<Digest>,
    /// Digest of the old content, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub before_sha256: Option<Digest>,
}

/// The name of a change in JSON and in the terminal.
pub fn change_kind_name(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Created => "created",
        ChangeKind::Modified => "modified",
        ChangeKind::Deleted => "deleted",
    }
}

fn change_name<S: serde::Serializer>(kind: &ChangeKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(change_kind_name(*kind))
}

impl FileChange {
    /// The public form of a recorded change; `None` for directories.
    pub fn of(change: &Change) -> Option<FileChange> {
        let kind = change.kind()?;
        let state = change.after.as_ref().or(change.before.as_ref())?;
        let sha256 = change.after.as_ref().and_then(|after| after.sha256);
        let before = change.before.as_ref().and_then(|before| before.sha256);
        let before_sha256 = before.or(sha256.filter(|_| change.same_content));
        (state.kind != FileKind::Directory).then(|| FileChange {
            path: change.path.clone(),
            change: kind,
            sha256,
            before_sha256,
        })
    }
}

/// A phase of a specialist with `agentLoop`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PhaseView {
    /// `understand`, `plan`, `execute`, `critique` or `finish`.
    pub phase: &'static str,
    /// Number of the round of execution and critique, from 1.
    pub round: u32,
    /// An estimate of how much of the work is done, from the phases and rounds before.
    pub progress_percent: u8,
    /// The phase that usually follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_milestone: Option<&'static str>,
    /// What the phase before gave: the understanding, the plan, the critique; for `finish`, the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
}
