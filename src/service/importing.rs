//! Importing definition files into a project.

use super::scaffold::write_files;
use super::{Project, ServiceError};
use crate::definition::{FileRole, InputFile, load};
use crate::diagnostic::{Diagnostic, Sources};
use crate::project::ProjectFolder;
use crate::value::Json;
use crate::wire;
use serde_json::json;
use std::path::{Path, PathBuf};

/// The result of [`import`].
#[derive(Debug, Clone, Default)]
pub struct Imported {
    /// Imported files, as pairs of source and target path.
    pub copied: Vec<(String, String)>,
    /// Refused files, as pairs of source path and reason.
    pub refused: Vec<(String, String)>,
    /// Problems of the first refused file with errors.
    pub diagnostics: Vec<Diagnostic>,
    /// The texts that the problems point into.
    pub sources: Sources,
}

impl Imported {
    /// The JSON form.
    pub fn view(&self) -> Json {
        let problems: Vec<wire::Problem> =
            self.diagnostics.iter().map(|d| wire::Problem::of(d, &self.sources)).collect();
        let pair = |names: [&'static str; 2]| move |(a, b): &(String, String)| json!({names[0]: a, names[1]: b});
        let copied: Vec<Json> = self.copied.iter().map(pair(["from", "to"])).collect();
        let refused: Vec<Json> = self.refused.iter().map(pair(["from", "why"])).collect();
        json!({"imported": copied, "refused": refused, "problems": problems})
    }
}

/// Copies definition files into `.kb/`. Each is checked together with the definitions of the project.
pub fn import(project: &Project, paths: &[PathBuf]) -> Result<Imported, ServiceError> {
    let folder = ProjectFolder::at(&project.context.root);
    let mut known = project.files.clone();
    let mut done = Imported::default();
    for path in paths {
        let from = path.display().to_string();
        let file = match folder.read_file(&project.context.environment.absolute(path)) {
            Ok(file) => file,
            Err(problem) => {
                done.refused.push((from, problem.message));
                continue;
            }
        };
        let Some(to) = destination(path, file.role) else {
            done.refused.push((from, "it is not a playbook, workflow or specialist".to_owned()));
            continue;
        };
        let candidate = InputFile { path: to.clone(), ..file };
        match admit(project, &known, &candidate)? {
            Ok(()) => {
                known.push(candidate);
                done.copied.push((from, to));
            }
            Err((why, sources, problems)) => {
                done.refused.push((from, why));
                // Only the problems of the first file are shown: each file has its own sources.
                if done.diagnostics.is_empty() {
                    (done.sources, done.diagnostics) = (sources, problems);
                }
            }
        }
    }
    Ok(done)
}

type Refusal = (String, Sources, Vec<Diagnostic>);

fn admit(
    project: &Project,
    known: &[InputFile],
    candidate: &InputFile,
) -> Result<Result<(), Refusal>, ServiceError> {
    let to = candidate.path.as_str();
    let refused = |why: String| Ok(Err((why, Sources::default(), Vec::new())));
    if known.iter().any(|file| file.path == to) {
        return refused(format!("`{to}` exists already"));
    }
    let files = known.iter().chain([candidate]).cloned().collect();
    let (catalog, diagnostics) = load(files);
    let own = |d: &Diagnostic| d.span.is_some_and(|s| &*catalog.sources.get(s.source).path == to);
    let own: Vec<Diagnostic> = diagnostics.iter().filter(|d| own(d)).cloned().collect();
    if own.iter().any(Diagnostic::is_error) {
        return Ok(Err(("it has errors".to_owned(), catalog.sources, own)));
    }
    let Ok(text) = std::str::from_utf8(&candidate.bytes) else {
        return refused("it is not UTF-8".to_owned());
    };
    match write_files(&project.context.root, &[(to, text)])?.kept.is_empty() {
        true => Ok(Ok(())),
        false => refused(format!("`{to}` exists already")),
    }
}

fn destination(path: &Path, role: FileRole) -> Option<String> {
    let folder = match role {
        FileRole::Playbook => "playbooks",
        FileRole::Workflow => "workflows",
        FileRole::Specialist => "specialists",
        FileRole::AgentProfile => "agents",
        FileRole::Plugin => "plugins",
        FileRole::Settings => return None,
    };
    let name = match path.file_name()?.to_str()? {
        // The id of `ID/specialist.yml` is the name of its folder.
        "specialist.yml" => format!("{}/specialist.yml", path.parent()?.file_name()?.to_str()?),
        name => name.to_owned(),
    };
    Some(format!(".kb/{folder}/{name}"))
}
