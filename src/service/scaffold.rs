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

/// The result of `kb init`.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Initialized {
    /// Paths of the files that were created.
    pub created: Vec<String>,
    /// Paths of the files that existed already and were not changed.
    pub kept: Vec<String>,
}

/// Creates `.kb/` in a folder.
pub fn init(environment: &Environment, folder: &Path) -> Result<Initialized, ServiceError> {
    let NewFiles { created, kept } = write_with_schemas(&environment.absolute(folder), &INITIAL)?;
    Ok(Initialized { created, kept })
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
