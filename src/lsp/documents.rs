//! The open documents, and the project with their texts.

use kb_base::diagnostic::{Diagnostic, Sources};
use kb_language::definition::{self, DefinitionFile};
use kb_service::service::{Environment, Project, validate_playbooks};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Characters of a path that a URI contains unchanged.
const PATH: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The open documents by URI.
#[derive(Debug, Default, Clone)]
pub(super) struct Documents {
    open: BTreeMap<String, Document>,
}

/// An open document.
#[derive(Debug, Clone)]
pub(super) struct Document {
    /// Absolute path of the file.
    pub(super) path: PathBuf,
    /// The text as the editor shows it.
    pub(super) text: String,
    /// Whether no text of it has been analysed yet.
    pub(super) is_new: bool,
}

impl Documents {
    /// Sets the text of a document; documents that are no files are ignored.
    pub(super) fn set(&mut self, uri: &str, text: String) {
        if let Some(path) = path_of(uri) {
            let is_new = self.get(uri).is_none_or(|document| document.is_new);
            self.open.insert(uri.to_owned(), Document { path, text, is_new });
        }
    }

    /// Notes that the texts of all documents have been analysed.
    pub(super) fn set_analysed(&mut self) {
        self.open.values_mut().for_each(|document| document.is_new = false);
    }

    pub(super) fn close(&mut self, uri: &str) {
        self.open.remove(uri);
    }

    pub(super) fn get(&self, uri: &str) -> Option<&Document> {
        self.open.get(uri)
    }

    /// The paths of the open documents, as the project shows them.
    pub(super) fn shown(&self, project: &Project) -> Vec<String> {
        self.open.values().map(|open| project.relative(&open.path)).collect()
    }

    /// The project that contains a folder, with the texts of the open documents.
    pub(super) fn project(&self, environment: &Environment) -> Project {
        let is_test = |path: &Path| is_test_file(&path.to_string_lossy());
        let open: Vec<(PathBuf, String)> = self
            .open
            .values()
            .filter(|document| !is_test(&document.path))
            .map(|document| (document.path.clone(), document.text.clone()))
            .collect();
        Project::with_open_files(environment, &open)
    }

    /// All problems, by the path of their file as the project shows it, with the texts.
    pub(super) fn problems(&self, project: &Project) -> Vec<(String, Vec<Problem>)> {
        let mut found: BTreeMap<String, Vec<Problem>> = BTreeMap::new();
        if let Ok(report) = validate_playbooks(project, &[]) {
            collect(&report.diagnostics, &report.sources, &mut found);
        }
        for document in self.open.values() {
            let shown = project.relative(&document.path);
            if is_test_file(&shown) {
                let mut sources = Sources::default();
                // Its text in the editor replaces the one on disk.
                found.remove(&shown);
                let (_, problems) =
                    definition::load_tests(&shown, document.text.as_bytes(), &mut sources);
                collect(&problems, &sources, &mut found);
            }
        }
        found.into_iter().collect()
    }
}

/// A problem with its range in bytes.
#[derive(Debug, Clone)]
pub(super) struct Problem {
    pub(super) diagnostic: Diagnostic,
    pub(super) start: usize,
    pub(super) end: usize,
}

fn collect(problems: &[Diagnostic], sources: &Sources, found: &mut BTreeMap<String, Vec<Problem>>) {
    for problem in problems {
        let Some(span) = problem.span else { continue };
        let path = sources.get(span.source).path.to_string();
        let (start, end) = (span.start as usize, span.end as usize);
        found.entry(path).or_default().push(Problem { diagnostic: problem.clone(), start, end });
    }
}

fn is_test_file(path: &str) -> bool {
    path.ends_with(".test.yml") || path.ends_with(".test.yaml")
}

/// The kind of a document.
pub(super) fn kind_of(shown: &str) -> Option<DefinitionFile> {
    super::tables::file_kind(shown, kb_service::project::role_of(Path::new(shown)))
}

/// The path of a `file:` URI.
pub(super) fn path_of(uri: &str) -> Option<PathBuf> {
    let path = uri.strip_prefix("file://")?;
    let path = &path[path.find('/')?..];
    Some(PathBuf::from(percent_decode_str(path).decode_utf8().ok()?.into_owned()))
}

/// The `file:` URI of a path.
pub(super) fn uri_of(path: &Path) -> String {
    format!("file://{}", utf8_percent_encode(&path.to_string_lossy(), PATH))
}
