//! Real paths of what may not exist yet.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// Maximum number of links that are followed, as in the kernel.
const MAX_LINKS: usize = 40;

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

/// The links that lead from a path to its real path, which a command may replace, and where they lead, even if nothing is
/// there yet.
pub(super) fn links_on_the_way(path: &Path) -> BTreeSet<PathBuf> {
    let (mut found, mut at, mut left) = (BTreeSet::new(), PathBuf::new(), MAX_LINKS);
    let parts = |path: &Path| -> Vec<OsString> {
        path.components().rev().map(|part| part.as_os_str().to_owned()).collect()
    };
    let mut open = parts(path);
    while let Some(part) = open.pop() {
        match Path::new(&part).components().next() {
            Some(Component::ParentDir) => drop(at.pop()),
            Some(Component::Normal(name)) => match at.join(name).read_link() {
                Ok(target) if left > 0 => {
                    left -= 1;
                    found.insert(at.join(name));
                    open.extend(parts(&target));
                }
                _ => at.push(name),
            },
            Some(other) => at.push(other),
            None => {}
        }
    }
    if !found.is_empty() {
        found.insert(at);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn every_link_to_a_path_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("defs/own")).unwrap();
        symlink("shared", root.join("playbooks")).unwrap();
        symlink(root.join("defs"), root.join("shared")).unwrap();
        symlink("../own/../own", root.join("defs/link")).unwrap();
        symlink("round", root.join("round")).unwrap();
        let found = links_on_the_way(&root.join("playbooks/./x/../own/a"));
        let expected = ["playbooks", "shared", "defs/own/a"].map(|path| root.join(path));
        assert_eq!(found, expected.into());
        assert!(links_on_the_way(&root.join("shared/link")).contains(&root.join("defs/link")));
        assert_eq!(links_on_the_way(&root.join("round")), [root.join("round")].into());
        assert!(links_on_the_way(&root.join("defs/own")).is_empty());
    }
}
