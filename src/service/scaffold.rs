//! New projects and specialists. Files are never overwritten.

use super::schemas::write_with_schemas;
use super::{Environment, Project, ServiceError};
use crate::diagnostic::Code;
use crate::project::NewFiles;
use crate::value::{Failure, SpecialistId};
use serde::Serialize;
use std::path::Path;

/// Paths and texts of the files of a new project.
pub(super) const INITIAL: [(&str, &str); 5] = [
    (".kb/kb.config.yml", include_str!("../../templates/init/kb.config.yml")),
    (".kb/specialists/researcher.yml", include_str!("../../.kb/specialists/researcher.yml")),
    (".kb/specialists/implementer.yml", include_str!("../../.kb/specialists/implementer.yml")),
    (".kb/playbooks/add-feature.yml", include_str!("../../templates/init/add-feature.yml")),
    (
        ".kb/tests/add-feature.test.yml",
        include_str!("../../templates/library/tests/add-feature.test.yml"),
    ),
];

/// The files of the demonstration of `kb serve`. They are written before the settings, so that the next `kb init`
/// finishes one that was killed.
const DEMO: [(&str, &str); 2] = [
    (".kb/scripts/demo.yml", include_str!("../../templates/init/demo/script.yml")),
    (".kb/playbooks/demo.yml", include_str!("../../templates/init/demo/demo.yml")),
];
/// The playbook of the demonstration.
const DEMO_ID: &str = "demo";

/// The result of `kb init`.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Initialized {
    /// Paths of the files that were created.
    pub created: Vec<String>,
    /// Paths of the files that existed already and were not changed.
    pub kept: Vec<String>,
    /// Id of the playbook with the demonstration, if it was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub demo: Option<&'static str>,
}

/// Creates `.kb/` in a folder; in a project without settings, `with_demo` adds a playbook that shows `kb serve`.
pub fn init(
    environment: &Environment,
    folder: &Path,
    with_demo: bool,
) -> Result<Initialized, ServiceError> {
    let folder = environment.absolute(folder);
    // A project with settings is not new: who removed the demonstration does not get it again.
    let settings = [".kb/kb.config.yml", ".kb/kb.config.json"];
    let is_new = !settings.iter().any(|path| folder.join(path).exists());
    // Their schemas may be missing if an earlier command was killed.
    let has_demo = DEMO.iter().all(|(path, _)| folder.join(path).exists());
    let demo: &[(&str, &str)] = if with_demo && (is_new || has_demo) { &DEMO } else { &[] };
    let files: Vec<(&str, &str)> = demo.iter().chain(&INITIAL).copied().collect();
    let NewFiles { created, kept } = write_with_schemas(&folder, &files)?;
    let has_demo = DEMO.iter().all(|(path, _)| created.iter().any(|own| own == path));
    Ok(Initialized { created, kept, demo: has_demo.then_some(DEMO_ID) })
}

/// Writes `.kb/specialists/ID.yml` and returns its path.
pub fn new_specialist(project: &Project, id: &str) -> Result<String, ServiceError> {
    let plain = id.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
    let id = SpecialistId::new(id).map_err(|error| bad_id(error.to_string()))?;
    if !plain {
        return Err(bad_id(format!(
            "`{id}` is not a plain id: use letters, digits, `_`, `-` and `.`"
        )));
    }
    let text =
        include_str!("../../templates/init/specialist.yml").replace("SPECIALIST_ID", id.as_str());
    new_file(project, &format!(".kb/specialists/{id}.yml"), &text)
}

/// Writes one new file of the project and returns its path.
fn new_file(project: &Project, path: &str, text: &str) -> Result<String, ServiceError> {
    let written = write_with_schemas(&project.context.root, &[(path, text)])?;
    if written.kept.is_empty() {
        return Ok(path.to_owned());
    }
    let failure = Failure::new(Code::FILE_EXISTS, format!("`{path}` exists already"));
    Err(ServiceError::refused(failure.help("choose another id, or remove the file first")))
}

fn bad_id(message: String) -> ServiceError {
    ServiceError::refused(Failure::new(Code::BAD_ARGUMENT, message))
}
