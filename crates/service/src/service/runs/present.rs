//! The settings that a project has while one of its runs is under way. Their policies narrow the run: when it is
//! opened again, and where an attempt begins.

use crate::project::{FileProblem, ProjectFolder, role_of};
use crate::service::ServiceError;
use kb_base::diagnostic::Diagnostic;
use kb_host::tool::PresentSettings;
use kb_language::definition::{FileBytes, FileRole, InputFile, Settings};
use kb_language::toolspec::ToolCatalog;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The settings on disk.
pub(super) fn settings(root: &Path, tools: ToolCatalog) -> Result<Arc<Settings>, ServiceError> {
    loaded(ProjectFolder::at(root).settings_files(), tools)
}

fn loaded(
    (files, unreadable): (Vec<InputFile>, Vec<FileProblem>),
    tools: ToolCatalog,
) -> Result<Arc<Settings>, ServiceError> {
    // Plugins and pinned tools are read for their names only: one with an error matters where the settings name it.
    let plugins: BTreeSet<String> = files
        .iter()
        .filter(|file| matches!(file.role, FileRole::Plugin | FileRole::McpLock))
        .map(|file| file.path.clone())
        .collect();
    let unreadable = unreadable
        .into_iter()
        .filter(|problem| role_of(Path::new(&problem.path)) == Some(FileRole::Settings));
    let (catalog, diagnostics) = kb_language::definition::load_with(files, tools);
    let of_settings = |problem: &Diagnostic| {
        problem.span.is_none_or(|span| !plugins.contains(&*catalog.sources.get(span.source).path))
    };
    let errors: Vec<Diagnostic> = unreadable
        .map(|problem| problem.diagnostic)
        .chain(diagnostics)
        .filter(|problem| problem.is_error() && of_settings(problem))
        .collect();
    if errors.is_empty() {
        return Ok(catalog.settings);
    }
    Err(ServiceError::Definitions { diagnostics: errors, sources: Box::new(catalog.sources) })
}

/// What was found when the settings were read last.
struct Found {
    /// The settings files with their content.
    files: Vec<(String, FileBytes)>,
    /// The settings of the run, narrowed by them; `None` if they forbid no more.
    narrowed: Option<Arc<Settings>>,
}

/// The settings of a run that began with these, narrowed by those on disk at each call. Settings with an error,
/// such as a file that is half written, change nothing.
pub(super) fn of_run(root: PathBuf, start: Arc<Settings>, tools: ToolCatalog) -> PresentSettings {
    let unchanged = start.narrowed_by(&start);
    let last: Mutex<Option<Found>> = Mutex::default();
    Arc::new(move || {
        let (read, unreadable) = ProjectFolder::at(&root).settings_files();
        let content = |file: &InputFile| (file.path.clone(), file.bytes.clone());
        let files: Vec<_> = read.iter().map(content).collect();
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref().is_none_or(|last| last.files != files)
            && let Ok(present) = loaded((read, unreadable), tools.clone())
        {
            let narrowed = start.narrowed_by(&present);
            let narrowed = (narrowed != unchanged).then(|| Arc::new(narrowed));
            *last = Some(Found { files, narrowed });
        }
        last.as_ref().and_then(|last| last.narrowed.clone())
    })
}
