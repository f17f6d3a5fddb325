//! Real paths of what may not exist yet.

use std::path::{Path, PathBuf};

/// The real path of a path whose last components may not exist yet.
pub(super) fn real(path: &Path) -> PathBuf {
    let mut missing = Vec::new();
    let mut at = path;
    loop {
        if let Ok(found) = at.canonicalize() {
            return missing.iter().rev().fold(found, |path, name| path.join(name));
        }
        match (at.parent(), at.file_name()) {
            (Some(parent), Some(name)) => {
                missing.push(name.to_owned());
                at = parent;
            }
            _ => return path.to_owned(),
        }
    }
}
