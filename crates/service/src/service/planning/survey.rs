//! What a planner is told about the files of the project: paths, and how it is built. All of it is data.

use crate::service::learning::ROUTES;
use crate::service::{Project, ServiceError};
use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use kb_host::workspace::Workspace;
use std::collections::BTreeMap;

/// Maximum number of paths.
const PATHS: usize = 200;
/// Maximum number of characters of all paths.
const PATH_CHARS: usize = 6_000;
/// Files of the root that say what the project is and how it is tested.
const TELLING: &[&str] =
    &["README.md", "package.json", "Cargo.toml", "pyproject.toml", "Makefile", "justfile"];
/// Maximum number of characters of such a file.
const EXCERPT: usize = 1_200;

/// The files of a project, without ignored ones and those of `kb`, those near the root first. Contents are left out if
/// the settings restrict what may be read.
pub(super) fn survey(project: &Project) -> Result<String, ServiceError> {
    let root = &project.context.root;
    let workspace = Workspace::open(root, &[], &[]).map_err(|error| {
        let message = format!("cannot list the files of `{}`: {error}", root.display());
        ServiceError::refused(Failure::new(Code::FILE_FAILED, message))
    })?;
    let manifest = workspace.manifest();
    let own = |path: &&String| !path.starts_with(".kb/");
    let mut paths: Vec<&String> = manifest.files.keys().filter(own).collect();
    paths.sort_by_key(|path| (path.matches('/').count(), (*path).clone()));
    let mut text = String::new();
    let mut listed = 0;
    for path in paths.iter().take(PATHS) {
        if text.len() + path.len() > PATH_CHARS {
            break;
        }
        // A name with a line break is no two names.
        text.extend(path.chars().map(|c| if c.is_control() { ' ' } else { c }));
        text.push('\n');
        listed += 1;
    }
    let left_out = paths.len() - listed;
    if left_out > 0 {
        text.push_str(&format!(
            "({left_out} more: {})\n",
            folders(&paths[paths.len() - left_out..])
        ));
    }
    if may_read(project) {
        let telling = TELLING.iter().chain([&ROUTES]);
        for name in telling.filter(|name| manifest.files.contains_key(**name)) {
            let Ok(bytes) = workspace.read_file(name) else { continue };
            let content: String = String::from_utf8_lossy(&bytes).chars().take(EXCERPT).collect();
            text.push_str(&format!("\n== beginning of {name} ==\n{content}\n"));
        }
    }
    Ok(text)
}

/// The top-level folders of paths, each with their number.
fn folders(paths: &[&String]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for path in paths {
        *counts.entry(path.split('/').next().unwrap_or(path)).or_default() += 1;
    }
    let parts = counts.iter().take(20).map(|(folder, count)| format!("{folder}/ {count}"));
    parts.collect::<Vec<_>>().join(", ")
}

/// Whether no setting restricts what tools may do, such as which files they read.
fn may_read(project: &Project) -> bool {
    let settings = &project.catalog.settings;
    settings.tools.security.allowed.is_none() && settings.tools.security.tools.is_empty()
}
