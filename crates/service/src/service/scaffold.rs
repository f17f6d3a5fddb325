//! New projects. Files are never overwritten.

use super::schemas::write_with_schemas;
use super::{Environment, ServiceError};
use crate::project::NewFiles;
use serde::Serialize;
use std::path::Path;

/// Paths and texts of the files of a new project.
pub(super) const INITIAL: [(&str, &str); 5] = [
    (".kb/kb.config.yml", include_str!("../../../../templates/init/kb.config.yml")),
    (".kb/specialists/researcher.yml", include_str!("../../../../.kb/specialists/researcher.yml")),
    (
        ".kb/specialists/implementer.yml",
        include_str!("../../../../.kb/specialists/implementer.yml"),
    ),
    (".kb/playbooks/add-feature.yml", include_str!("../../../../playbooks/add-feature.yml")),
    (".kb/tests/add-feature.test.yml", include_str!("../../../../.kb/tests/add-feature.test.yml")),
];

/// The files of the demonstration of `kb serve`. They are written before the settings, so that the next `kb init`
/// finishes one that was killed.
const DEMO: [(&str, &str); 2] = [
    (".kb/scripts/demo.yml", include_str!("../../../../templates/init/demo/script.yml")),
    (".kb/playbooks/demo.yml", include_str!("../../../../templates/init/demo/demo.yml")),
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
