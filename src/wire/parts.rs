use crate::evidence::{
    Change, ChangeKind, CheckDetail, EvidenceRef, FileKind, Payload, RequestDigests, Verdict,
};
use crate::value::{Digest, Failure, Json, Usage};
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::Arc;

/// What model calls took. `costUsd` is null where a model without a price took part.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageView {
    /// Tokens read by the model.
    pub prompt_tokens: u64,
    /// Tokens written by the model.
    pub completion_tokens: u64,
    /// Of the prompt, those the provider had cached.
    pub cached_tokens: u64,
    /// Dollars.
    pub cost_usd: Option<f64>,
    /// Model calls.
    pub model_calls: u32,
    /// Tool calls.
    pub tool_calls: u32,
}

impl From<Usage> for UsageView {
    fn from(usage: Usage) -> Self {
        UsageView {
            prompt_tokens: usage.prompt_tokens,
            completion_tokens: usage.completion_tokens,
            cached_tokens: usage.cached_tokens,
            cost_usd: usage.cost_usd.map(|cost| cost.usd()),
            model_calls: usage.model_calls,
            tool_calls: usage.tool_calls,
        }
    }
}

/// Why something did not work; `kb explain CODE` has a page for the code.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErrorView {
    /// A stable code such as `KB0502`.
    pub code: String,
    /// What is wrong.
    pub message: String,
    /// How to fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// More for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Json>,
}

impl From<&Failure> for ErrorView {
    fn from(failure: &Failure) -> Self {
        let Failure { code, message, help, details } = failure.clone();
        ErrorView { code, message, help, details: details.map(|details| *details) }
    }
}

impl ErrorView {
    /// What a tool's result says where it is `{error: {code, message, help}}`.
    pub(super) fn of_result(result: &Json) -> Option<ErrorView> {
        let error = result.get("error")?;
        let text = |key: &str| error.get(key).and_then(Json::as_str).map(str::to_owned);
        let (code, message) = (text("code")?, text("message")?);
        Some(ErrorView { code, message, help: text("help"), details: None })
    }
}

/// Digests of the parts of what a model was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RequestView {
    /// The system prompt.
    #[schemars(with = "String")]
    pub prompt: Digest,
    /// The tools that were offered, with their schemas.
    #[schemars(with = "String")]
    pub tools: Digest,
    /// The schema of the answer, where one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub schema: Option<Digest>,
    /// The model as it was asked for.
    #[schemars(with = "String")]
    pub model: Digest,
}

impl From<&RequestDigests> for RequestView {
    fn from(digests: &RequestDigests) -> Self {
        let RequestDigests { prompt, tools, schema, model } = digests.clone();
        RequestView { prompt, tools, schema, model }
    }
}

/// A value too large for an event: its canonical JSON text is stored under its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BlobRef {
    /// Names it.
    #[schemars(with = "String")]
    pub sha256: Digest,
    /// Its size.
    pub bytes: u64,
}

/// The value itself, or where it is.
pub(super) fn inline_or_blob(payload: Option<&Payload>) -> (Option<Arc<Json>>, Option<BlobRef>) {
    match payload {
        None => (None, None),
        Some(Payload::Inline(value)) => (Some(value.clone()), None),
        Some(Payload::Blob { digest, bytes }) => {
            (None, Some(BlobRef { sha256: *digest, bytes: *bytes }))
        }
    }
}

/// One check of a gate.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckView {
    /// What was checked.
    pub check: String,
    /// The result of the check.
    #[schemars(with = "String", extend("enum" = ["passed", "failed", "inconclusive"]))]
    pub verdict: Verdict,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What was observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Json>,
}

impl From<&CheckDetail> for CheckView {
    fn from(detail: &CheckDetail) -> Self {
        CheckView {
            check: detail.check.clone(),
            verdict: detail.verdict,
            reason: detail.reason.clone(),
            evidence: detail.evidence.clone(),
        }
    }
}

/// Something outside the journal that a tool call points to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EvidenceView {
    /// `file`, `http`, `receipt`, `log` or `hash`.
    pub kind: String,
    /// Path, URL or id.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Digest of what it pointed to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub sha256: Option<Digest>,
}

impl From<&EvidenceRef> for EvidenceView {
    fn from(evidence: &EvidenceRef) -> Self {
        let EvidenceRef { kind, reference, sha256 } = evidence.clone();
        EvidenceView { kind, reference, sha256 }
    }
}

/// A file that was changed while a tool ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    /// Relative to the workspace.
    pub path: String,
    /// What happened to it.
    #[schemars(with = "String", extend("enum" = ["created", "modified", "deleted"]))]
    #[serde(serialize_with = "change_name")]
    pub change: ChangeKind,
    /// Digest of what it became.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub sha256: Option<Digest>,
    /// Digest of what it was, where that was known.
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
    /// What a recorded change says; `None` for one without either side, and for directories.
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
