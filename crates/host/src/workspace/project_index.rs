//! The index of the files of a workspace: which of them are indexed, and how they are read.

use super::file_access::FileAccess;
use super::ignore_rules::IgnoreRules;
use super::index_rules::IndexRules;
use super::path_error::PathError;
use super::path_glob::PathGlob;
use super::path_guard::Workspace;
use super::walk::walk;
use crate::embedding::Asked;
use kb_base::value::{Digest, Failure};
use kb_core::evidence::FileKind;
use kb_core::redaction::Redactor;
use kb_database::DatabaseError;
use kb_knowledge::{
    Answer, Content, Corpus, Embedder, Files, Index, Patience, Question, Stamp, Stored,
};
use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Maximum size of a file of no language and no prose: data are no source.
const MAX_OTHER: u64 = 128 << 10;

/// The files of a workspace for an index: those that the ignore files do not hide and whose paths have no part that
/// begins with a dot, such as `.env`.
pub struct IndexedFiles {
    workspace: Workspace,
    redactor: Arc<Redactor>,
}

impl IndexedFiles {
    /// The files of a workspace, with the secrets that this redactor knows masked.
    pub fn new(workspace: Workspace, redactor: Arc<Redactor>) -> IndexedFiles {
        IndexedFiles { workspace, redactor }
    }

    /// Brings the index to the files of now and answers a question about them. Blocks.
    pub fn ask(
        &self,
        question: &FileQuestion<'_>,
        permit: &dyn Fn(&str) -> bool,
    ) -> Result<Answer, PathError> {
        let glob = question.glob.map(PathGlob::anywhere).transpose()?;
        let permit =
            |path: &str| glob.as_ref().is_none_or(|glob| glob.matches(path)) && permit(path);
        let (asked, mut note) = Asked::of(self.embedder(), &self.mask(question.text));
        let question = Question {
            text: question.text,
            terms: question.terms,
            meaning: asked.as_ref().map(Asked::meaning),
            corpus: question.corpus,
            permit: &permit,
            limit: question.limit,
        };
        let answer = self.with_index(|index| {
            index.sync(self)?;
            if let Some(asked) = &asked {
                let length = Some(asked.vector.len());
                let made = index.embed(self, asked.embedder, length, &mut asked.budget())?;
                note = made.failure;
            }
            index.query(&question, self)
        });
        let mut answer = answer.map_err(|error| PathError::io(Index::FILE, error))?;
        answer.note = note.map(|failure| self.mask(&failure.to_string()));
        Ok(answer)
    }

    /// Removes the index and makes it again, with the vectors of all parts. Returns what it holds, and why some parts have
    /// no vector. Blocks.
    pub fn rebuild(&self) -> Result<(Stored, Option<Failure>), DatabaseError> {
        if let Some(folder) = self.folder() {
            Index::remove(folder)?;
        }
        self.with_index(|index| {
            index.sync(self)?;
            let embedder = self.embedder();
            let made = embedder.map(|embedder| index.embed(self, embedder, None, &mut || false));
            let failure = made.transpose()?.and_then(|made| made.failure);
            Ok((index.stored(self)?, failure))
        })
    }

    /// The database of the index; `None` if it is in memory.
    pub fn database(&self) -> Option<PathBuf> {
        Some(self.folder()?.join(Index::FILE))
    }

    /// Makes the vectors of the parts of these files.
    pub fn embedder(&self) -> Option<&dyn Embedder> {
        self.workspace.embedder()
    }

    fn has_language(&self, path: &str) -> bool {
        kb_code::Language::of_path(path).is_some() || self.corpus(path) == Corpus::Docs
    }

    fn folder(&self) -> Option<&Path> {
        self.workspace.states.as_ref().map(|states| states.state_dir())
    }

    /// Executes work with the index of these files. It is in the state folder of the project, or in memory if the
    /// workspace has none. Blocks.
    pub fn with_index<T>(
        &self,
        work: impl FnMut(&mut Index) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        Index::with(self.folder(), self.workspace.root(), work)
    }
}

/// A question about the files of a workspace.
pub struct FileQuestion<'a> {
    /// What is looked for, in words.
    pub text: &'a str,
    /// Further words that may stand in the answer.
    pub terms: &'a [String],
    /// The collection; `None` is all.
    pub corpus: Option<Corpus>,
    /// Only paths that match, or names at any depth if it has no `/`.
    pub glob: Option<&'a str>,
    /// Maximum number of hits.
    pub limit: usize,
}

impl Workspace {
    /// The same files with these rules for their index.
    #[must_use]
    pub fn with_index_rules(mut self, rules: IndexRules) -> Workspace {
        self.index = Arc::new(rules);
        self
    }

    /// Makes vectors of texts, if the settings name a server for them.
    pub fn embedder(&self) -> Option<&dyn Embedder> {
        self.index.embedder.as_deref()
    }
}

impl FileAccess {
    /// Answers a question about the files that the tool may read.
    pub(crate) fn ask(&self, question: &FileQuestion<'_>) -> Result<Answer, PathError> {
        let files = IndexedFiles::new(self.workspace.clone(), self.redactor.clone());
        files.ask(question, &|path| self.permit(path))
    }
}

/// How long the structure of one file may take to read.
const PATIENCE: Duration = Duration::from_secs(2);

/// Says when the structure of one file took too long to read, or the work was cancelled.
pub(crate) fn patience(cancel: CancellationToken) -> Box<dyn FnMut() -> bool> {
    let began = kb_clock::instant();
    Box::new(move || cancel.is_cancelled() || began.elapsed() > PATIENCE)
}

impl Files for IndexedFiles {
    fn patience(&self) -> Patience {
        || patience(CancellationToken::new())
    }

    fn list(&self) -> Vec<(String, Stamp)> {
        let mut found = Vec::new();
        let Ok(start) = self.workspace.locate(".") else { return found };
        walk(&self.workspace, &start, None, IgnoreRules::new(None), &mut |entry| {
            let is_indexed = entry.kind == FileKind::File
                && is_indexed(&entry.shown)
                && !self.workspace.index.exclude.match_path(&entry.shown)
                && !self.workspace.is_state_path(&entry.rel);
            if let Some(state) = is_indexed.then(|| entry.state()).flatten() {
                let stamp =
                    Stamp { size: state.size, mtime: state.mtime_ns, ctime: state.ctime_ns };
                found.push((entry.shown.clone(), stamp));
            }
            if found.len() < self.workspace.index.max_files {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
        found
    }

    fn read(&self, path: &str) -> Option<Content> {
        let located = self.workspace.locate(path).ok().filter(|located| located.shown == path)?;
        let file = self.workspace.open_file(&located).ok()?;
        let most = self.workspace.index.max_file;
        let limit = if self.has_language(path) { most } else { MAX_OTHER.min(most) };
        if located.state().size > limit {
            return Some(Content { sha256: Digest::of(b""), text: None });
        }
        let mut bytes = Vec::new();
        file.take(limit + 1).read_to_end(&mut bytes).ok()?;
        let sha256 = Digest::of(&bytes);
        let text = String::from_utf8(bytes).ok();
        let text = text.filter(|text| text.len() as u64 <= limit && !text.contains('\0'));
        Some(Content { sha256, text })
    }

    fn corpus(&self, path: &str) -> Corpus {
        self.workspace.index.corpus(path)
    }

    fn mask(&self, text: &str) -> String {
        self.redactor.mask_text(text).into_owned()
    }

    fn now(&self) -> i64 {
        kb_clock::file_time().0.saturating_mul(1_000_000)
    }
}

/// Whether no part of a path begins with a dot.
fn is_indexed(path: &str) -> bool {
    !Path::new(path).iter().any(|part| part.to_string_lossy().starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::super::path_rules::PathRules;
    use super::*;
    use std::borrow::Cow;

    #[test]
    fn a_file_that_a_tool_may_not_read_is_in_no_answer() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("notes.md", "The pump stops.\n");
        write("private/pump.md", "The pump code is 1234.\n");
        write(".env", "PUMP=1\n");
        std::os::unix::fs::symlink("/etc/hostname", folder.path().join("pump.txt")).unwrap();
        let workspace = Workspace::open(folder.path(), &[], &[]).unwrap();
        let ask = |denied: &[String], glob: Option<&str>| {
            let mut rules = PathRules::default();
            rules.narrow(&[], denied).unwrap();
            let files = FileAccess {
                workspace: workspace.clone(),
                rules: Arc::new(rules),
                tool: Cow::Borrowed("mind:query"),
                redactor: Arc::default(),
            };
            let question = FileQuestion { text: "pump", terms: &[], corpus: None, glob, limit: 20 };
            let hits = files.ask(&question).unwrap().hits;
            let mut paths: Vec<String> = hits.into_iter().map(|hit| hit.path).collect();
            paths.sort();
            paths
        };
        assert_eq!(ask(&[], None), ["notes.md", "private/pump.md"]);
        assert_eq!(ask(&["private/**".to_owned()], None), ["notes.md"]);
        assert_eq!(ask(&[], Some("private/*")), ["private/pump.md"]);
    }
}
