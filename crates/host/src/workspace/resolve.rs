//! Where a path leads: through links in its folders, and through a link at its end.

use super::path_error::PathError;
use super::path_guard::Workspace;
use super::path_text::shown;
use super::write_target::deepest;
use kb_core::evidence::FileState;
use std::path::{Path, PathBuf};

/// The real location of a path in the workspace. The path need not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedPath {
    /// Relative to the workspace, with links in the folders resolved.
    pub entry: String,
    /// The state of the path; a link at its end is not followed.
    pub state: Option<FileState>,
    /// Path and state of the file that a link at its end leads to.
    pub target: Option<(String, FileState)>,
}

impl Workspace {
    /// Resolves a path in the way the tools do. An absolute path may reach the workspace through links.
    pub fn resolved(&self, path: &str) -> Result<ResolvedPath, PathError> {
        let rel = match self.relative(path) {
            Ok((0, rel)) => rel,
            Ok(_) => return Err(PathError::Outside(path.to_owned())),
            Err(error) => self.through_links(Path::new(path)).ok_or(error)?,
        };
        let rel = Path::new(rel.trim_end_matches('/'));
        let Some(name) = rel.file_name() else {
            let state = self.stat(".")?;
            return Ok(ResolvedPath { entry: ".".to_owned(), state, target: None });
        };
        let parent = rel.parent().unwrap_or_else(|| Path::new(""));
        let (folder, missing) = deepest(self, path, parent)?;
        let real: PathBuf = missing.iter().fold(folder.real, |real, name| real.join(name));
        let entry = shown(&real.join(name));
        let state = if missing.is_empty() { self.symlink_stat(&entry)? } else { None };
        let target = self.locate(&entry).ok().filter(|located| located.shown != entry);
        let target = target.map(|located| Ok((located.shown.clone(), self.observed(&located)?)));
        Ok(ResolvedPath { entry, state, target: target.transpose()? })
    }

    /// An absolute path relative to the root, if its deepest existing folder is inside.
    fn through_links(&self, path: &Path) -> Option<String> {
        let existing = path.ancestors().skip(1).find(|folder| folder.exists())?;
        let real = existing.canonicalize().ok()?;
        let inside = real.strip_prefix(self.root()).ok()?;
        let rest = path.strip_prefix(existing).ok()?;
        Some(inside.join(rest).to_str()?.to_owned())
    }
}
