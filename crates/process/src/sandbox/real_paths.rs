//! The real paths of what the sandbox permits.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// The maximum number of links on the way to a path, as in the kernel.
const MAX_LINKS: usize = 40;

/// Finds the real paths of paths of the host. A link that sandboxed processes could make leads nowhere, so that none of
/// them decides what the next one may use.
#[derive(Debug, Clone, Default)]
pub(crate) struct RealPaths {
    /// The real paths of the folders that sandboxed processes can write.
    written: Vec<PathBuf>,
    /// Paths that were looked up: the target if it is a link, `None` if it is missing.
    seen: HashMap<PathBuf, Option<Entry>>,
}

/// The way to a path.
struct Way {
    /// Its real path.
    end: PathBuf,
    exists: bool,
    links: Vec<PathBuf>,
    /// The real paths of the folders in which a part of it was looked up.
    folders: Vec<PathBuf>,
}

/// An entry of the host.
#[derive(Debug, Clone)]
pub(super) enum Entry {
    Link(PathBuf),
    Directory,
    File,
}

impl RealPaths {
    /// Sandboxed processes can write below these paths.
    pub(crate) fn new(written: impl IntoIterator<Item = PathBuf>) -> RealPaths {
        let written = written.into_iter().filter_map(|path| path.canonicalize().ok());
        // `/` stands for what the user may write anyway.
        let written = written.filter(|path| path != Path::new("/")).collect();
        RealPaths { written, seen: HashMap::new() }
    }

    /// The real path of a path that exists, and the links on the way to it; `None` if one of them could have been made
    /// by a sandboxed process.
    pub(super) fn resolve(&mut self, path: &Path) -> Option<(PathBuf, Vec<PathBuf>)> {
        let way = self.walk(path).filter(|way| way.exists)?;
        let is_written =
            |link: &PathBuf| link.parent().is_none_or(|folder| self.is_written(folder));
        (!way.links.iter().any(is_written)).then_some((way.end, way.links))
    }

    /// Whether a sandboxed process can write a folder on the way to a path, or the path, and so decide what it leads to.
    pub(crate) fn is_below_written(&mut self, path: &Path) -> bool {
        self.walk(path).is_none_or(|way| {
            way.folders.iter().chain([&way.end]).any(|folder| self.is_written(folder))
        })
    }

    fn is_written(&self, folder: &Path) -> bool {
        self.written.iter().any(|root| folder.starts_with(root))
    }

    /// Follows a path, as far as it exists, and its rest; `None` if there are too many links.
    fn walk(&mut self, path: &Path) -> Option<Way> {
        let mut rest: VecDeque<OsString> = parts(path).collect();
        let mut way = Way { end: "/".into(), exists: true, links: Vec::new(), folders: Vec::new() };
        while let Some(name) = rest.pop_front() {
            if name == ".." {
                way.end.pop();
                continue;
            }
            way.folders.push(way.end.clone());
            let next = way.end.join(&name);
            let entry = self.entry(&next);
            way.exists &= entry.is_some();
            let Some(Entry::Link(target)) = entry else {
                way.end = next;
                continue;
            };
            for part in parts(&target).collect::<Vec<_>>().into_iter().rev() {
                rest.push_front(part);
            }
            if target.is_absolute() {
                way.end = PathBuf::from("/");
            }
            way.links.push(next);
            if way.links.len() > MAX_LINKS {
                return None;
            }
        }
        Some(way)
    }

    pub(super) fn entry(&mut self, path: &Path) -> Option<Entry> {
        if let Some(entry) = self.seen.get(path) {
            return entry.clone();
        }
        let entry = path.symlink_metadata().ok().and_then(|found| match found.file_type() {
            kind if kind.is_symlink() => path.read_link().ok().map(Entry::Link),
            kind if kind.is_dir() => Some(Entry::Directory),
            _ => Some(Entry::File),
        });
        self.seen.insert(path.to_owned(), entry.clone());
        entry
    }

    /// Forgets what was looked up.
    pub(super) fn forget(&mut self) {
        self.seen = HashMap::new();
    }
}

/// The paths that no other one of them contains.
pub(super) fn outermost(paths: impl IntoIterator<Item = PathBuf>) -> Vec<PathBuf> {
    let all: BTreeSet<PathBuf> = paths.into_iter().collect();
    let is_outermost = |path: &&PathBuf| !path.ancestors().skip(1).any(|above| all.contains(above));
    all.iter().filter(is_outermost).cloned().collect()
}

/// The components of a path, without `/` and `.`.
fn parts(path: &Path) -> impl Iterator<Item = OsString> {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_in_what_processes_write_leads_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let at = |name: &str| root.join(name);
        for made in ["project/venv/bin", "outside/lib"] {
            std::fs::create_dir_all(at(made)).unwrap();
        }
        for (target, link) in [
            ("../../outside", "project/venv/share"),
            ("project/venv", "trusted"),
            ("outside", "also"),
        ] {
            std::os::unix::fs::symlink(target, at(link)).unwrap();
        }
        let mut real = RealPaths::new([at("project")]);
        let mut of = |name: &str| real.resolve(&at(name)).map(|(real, _)| real);
        assert_eq!(of("project/venv/bin"), Some(at("project/venv/bin")));
        assert_eq!(of("project/venv/share"), None);
        assert_eq!(of("project/venv/share/lib"), None);
        assert_eq!(of("trusted/bin"), Some(at("project/venv/bin")));
        assert_eq!(of("trusted/share/lib"), None);
        assert_eq!(of("also/lib"), Some(at("outside/lib")));
        assert_eq!(of("project/missing"), None);
        let mut is_below = |name: &str| real.is_below_written(&at(name));
        assert!(is_below("project/venv/share/git") && is_below("trusted/bin/git"));
        assert!(is_below("trusted/share/lib") && is_below("project/missing/git"));
        assert!(!is_below("also/lib/git") && !is_below("missing/git"));
    }
}
