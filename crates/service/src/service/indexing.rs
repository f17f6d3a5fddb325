//! The index of the project files as use cases: its status, a rebuild, questions.

use super::hook_secrets::learn_secrets;
use super::index_rules::index_rules;
use super::{Environment, Project, ServiceError};
use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use kb_core::redaction::Redactor;
use kb_database::DatabaseError;
use kb_host::workspace::{FileQuestion, IndexedFiles, PathError};
use kb_knowledge::{Corpus, Hit, Index, Stored, Synced};
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;

/// What the index of a project holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IndexStatus {
    /// Path of the database.
    pub database: String,
    /// Its size in bytes; 0 if there is none yet.
    pub bytes: u64,
    /// Indexed source files.
    pub code: u64,
    /// Indexed documents.
    pub docs: u64,
    /// Parts of these files.
    pub chunks: u64,
    /// Parts with a vector; absent if the settings name no server for vectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vectors: Option<u64>,
    /// Files that the next question reads, because they are new or changed.
    pub changed: usize,
    /// Indexed files that are gone.
    pub gone: usize,
}

/// A question to the index of a project.
#[derive(Debug, Clone, Default)]
pub struct IndexQuestion {
    /// What is looked for, in words.
    pub text: String,
    /// Further words that may stand in the answer.
    pub terms: Vec<String>,
    /// `code` or `docs`; `None` is both.
    pub corpus: Option<String>,
    /// Only paths that match this glob.
    pub path: Option<String>,
    /// Maximum number of hits.
    pub limit: usize,
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IndexAnswer {
    /// Best first.
    pub hits: Vec<HitView>,
    /// Files that changed and were indexed again before the answer.
    pub stale: usize,
    /// Files that were found and are gone.
    pub gone: usize,
    /// Why the parts were found by words alone, although the settings name a server for vectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A part of a file with words of the question.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HitView {
    /// `path:first-last`.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The file, relative to the project.
    pub path: String,
    /// The definition or heading; empty for lines of none.
    pub symbol: String,
    /// The first and the last line.
    pub lines: (u32, u32),
    /// Digest of the file.
    pub sha256: String,
    /// The words of the question that it has.
    pub why: Vec<String>,
    /// Its text or a part of it, masked.
    pub excerpt: String,
}

impl From<Hit> for HitView {
    fn from(hit: Hit) -> Self {
        let reference = hit.reference();
        let Hit { path, symbol, lines, sha256, why, excerpt } = hit;
        HitView { reference, path, symbol, lines, sha256: sha256.to_string(), why, excerpt }
    }
}

/// What the index holds, and what has changed since.
pub fn index_status(environment: &Environment) -> Result<IndexStatus, ServiceError> {
    let files = files(environment)?;
    let database = files.database().unwrap_or_default();
    let found = files.with_index(|index| {
        Ok((index.stored(&files)?, vectors(index, &files)?, index.pending(&files)?))
    });
    let (stored, vectors, pending) = found.map_err(|error| unusable(&database, &error))?;
    Ok(status(&database, stored, vectors, pending))
}

fn vectors(index: &Index, files: &IndexedFiles) -> Result<Option<u64>, DatabaseError> {
    files.embedder().map(|embedder| index.embedded(embedder.key())).transpose()
}

/// Removes the index and makes it again from all files, with the vectors of all parts.
///
/// # Errors
///
/// If the server that makes vectors fails, the index is there without some of them.
pub fn rebuild_index(environment: &Environment) -> Result<IndexStatus, ServiceError> {
    let files = files(environment)?;
    let database = files.database().unwrap_or_default();
    let rebuilt = files.rebuild();
    let (stored, failure) = rebuilt.map_err(|error| unusable(&database, &error))?;
    if let Some(failure) = failure {
        return Err(ServiceError::environment(failure));
    }
    let vectors = files.with_index(|index| vectors(index, &files));
    let vectors = vectors.map_err(|error| unusable(&database, &error))?;
    Ok(status(&database, stored, vectors, Synced::default()))
}

/// Answers a question from the files of now. The index is brought to them before.
pub fn query_index(
    environment: &Environment,
    question: &IndexQuestion,
) -> Result<IndexAnswer, ServiceError> {
    let files = files(environment)?;
    let asked = FileQuestion {
        text: &question.text,
        terms: &question.terms,
        corpus: question.corpus.as_deref().and_then(Corpus::named),
        glob: question.path.as_deref(),
        limit: question.limit,
    };
    let answer = files.ask(&asked, &|_| true);
    let answer = answer.map_err(|error| {
        let of = if matches!(error, PathError::BadGlob { .. }) {
            ServiceError::refused
        } else {
            ServiceError::environment
        };
        of(error.failure())
    })?;
    let hits = answer.hits.into_iter().map(HitView::from).collect();
    Ok(IndexAnswer { hits, stale: answer.stale, gone: answer.gone, note: answer.note })
}

fn files(environment: &Environment) -> Result<IndexedFiles, ServiceError> {
    let project = Project::find(environment)?;
    let context = &project.context;
    let workspace = context.workspace(None).map_err(|error| {
        let message =
            format!("the project folder `{}` cannot be opened: {error}", context.root.display());
        ServiceError::environment(Failure::new(Code::PATH_UNUSABLE, message))
    })?;
    let redactor = Arc::new(Redactor::default());
    learn_secrets(&project, &redactor);
    let rules = index_rules(&project.catalog.settings, environment, &redactor);
    Ok(IndexedFiles::new(workspace.with_index_rules(rules), redactor))
}

fn status(database: &Path, stored: Stored, vectors: Option<u64>, pending: Synced) -> IndexStatus {
    IndexStatus {
        database: database.display().to_string(),
        bytes: std::fs::metadata(database).map_or(0, |file| file.len()),
        code: stored.files.0,
        docs: stored.files.1,
        chunks: stored.chunks,
        vectors,
        changed: pending.read,
        gone: pending.gone,
    }
}

fn unusable(database: &Path, error: &impl std::fmt::Display) -> ServiceError {
    let message = format!("the index `{}` cannot be used: {error}", database.display());
    let failure = Failure::new(Code::PATH_UNUSABLE, message);
    ServiceError::environment(failure.help("remove the file; the next question makes it again"))
}
