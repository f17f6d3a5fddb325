use super::dir_handle::{DirHandle, FileId};
use super::protected_names::{ANYWHERE, AT_ROOT, DECIDING_IN_GIT, GIT, named, plain};
use std::path::{Component, Path, PathBuf};

/// Places that tools may read and never change: definitions and settings, the repository's own
/// data, the state of `kb` (DESIGN §6). They hold before they exist.
///
/// What exists is told by what it is, not by how it is written, so that no spelling which a file
/// system takes for another leads there; what does not exist yet, by its name without everything
/// that some file system ignores.
#[derive(Debug, Clone)]
pub(super) struct ProtectedPaths {
    also: Vec<PathBuf>,
}

impl ProtectedPaths {
    /// With further places: absolute, or relative to the root.
    pub(super) fn new(root: &Path, also: &[PathBuf]) -> Self {
        ProtectedPaths { also: also.iter().map(|place| real(&root.join(place))).collect() }
    }

    /// The places that are there now and can be closed to a whole process: not the rest of `.git`,
    /// into which every commit writes, and no links.
    pub(super) fn present(&self, root: &Path) -> Vec<PathBuf> {
        let at_root = AT_ROOT.iter().map(|name| root.join(name)).chain([root.join(".kb")]);
        let git = root.join(GIT);
        let in_git = match git.is_dir() {
            true => DECIDING_IN_GIT.iter().map(|name| git.join(name)).collect(),
            false => vec![git],
        };
        let inside = self.also.iter().filter(|place| place.starts_with(root)).cloned();
        at_root
            .chain(in_git)
            .chain(inside)
            .filter(|place| place.symlink_metadata().is_ok_and(|found| !found.is_symlink()))
            .collect()
    }

    /// The further places that lie in the root, relative to it.
    pub(super) fn further_inside(&self, root: &Path) -> Vec<PathBuf> {
        let inside = self.also.iter().filter_map(|place| place.strip_prefix(root).ok());
        inside.map(Path::to_owned).collect()
    }

    /// Whether a real path, relative to the root, lies in one of the further places.
    pub(super) fn is_further(&self, root: &Path, real: &Path) -> bool {
        let full = root.join(real);
        self.also.iter().any(|place| full.starts_with(place))
    }

    /// The protected place that a real path, relative to the root, lies in.
    pub(super) fn place(&self, root: &DirHandle, real: &Path) -> Option<String> {
        let plain_names: Vec<String> =
            names(real).map(|name| plain(&name.to_string_lossy())).collect();
        if let Some(place) = named(&plain_names) {
            return Some(format!("{place}/"));
        }
        let full = root.path.join(real);
        let further = self.also.iter().find(|place| full.starts_with(place));
        if let Some(place) = further {
            return Some(place.display().to_string());
        }
        self.same(root, real)
    }

    /// The protected place that a folder on the way really is, however it is written.
    fn same(&self, root: &DirHandle, real: &Path) -> Option<String> {
        let identities = self.also.iter().map(|place| FileId::of(place));
        let further: Vec<_> = identities.zip(&self.also).collect();
        let mut at = PathBuf::new();
        for name in names(real) {
            let above = at.clone();
            at.push(name);
            let found = root.identity(&at)?;
            let is = |place: &Path| root.identity(place) == Some(found);
            let at_root: &[&str] = if above.as_os_str().is_empty() { &AT_ROOT } else { &[] };
            let known = at_root.iter().chain(&ANYWHERE).find(|name| is(&above.join(name)));
            if let Some(name) = known {
                return Some(format!("{name}/"));
            }
            if let Some((_, place)) = further.iter().find(|(place, _)| *place == Some(found)) {
                return Some(place.display().to_string());
            }
        }
        None
    }
}

fn names(path: &Path) -> impl Iterator<Item = &std::ffi::OsStr> {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name),
        _ => None,
    })
}

/// The real path of a place whose last parts may not exist yet.
fn real(path: &Path) -> PathBuf {
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
