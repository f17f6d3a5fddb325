//! Paths that an author names, below the project or outside of it, and links that others may have placed.

use std::path::{Component, Path, PathBuf};

/// A path that an author names, relative to the project. `None` if it is below the project and a link leads out of it:
/// links in the project can be those of a specialist. A path that does not exist is below the folder that does.
pub fn own_path(root: &Path, path: &Path) -> Option<PathBuf> {
    let path = lexical(&root.join(path));
    if !path.starts_with(root) {
        return Some(path);
    }
    let real_root = root.canonicalize().ok()?;
    let existing = path.ancestors().find(|path| path.symlink_metadata().is_ok())?;
    // A link that leads to nothing has no target to compare.
    let target = existing.canonicalize().ok()?;
    target.starts_with(real_root).then_some(path)
}

/// A path without `.` and `..`: what the text says, whatever links there are.
pub(crate) fn lexical(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut whole, part| {
        match part {
            Component::ParentDir => drop(whole.pop()),
            Component::CurDir => {}
            other => whole.push(other),
        }
        whole
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_no_path_of_the_project_out_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("project");
        std::fs::create_dir_all(root.join("own/below")).unwrap();
        let link = |from: &str, to: &Path| std::os::unix::fs::symlink(to, root.join(from)).unwrap();
        link("out", folder.path());
        link("inside", &root.join("own"));
        link("nothing", Path::new("/does/not/exist"));
        let of = |path: &str| own_path(&root, Path::new(path));
        for closed in ["out", "out/other", "nothing", "nothing/x"] {
            assert_eq!(of(closed), None, "{closed}");
        }
        for open in ["own/below", "inside/below", "own/new", "."] {
            assert_eq!(of(open), Some(lexical(&root.join(open))), "{open}");
        }
        assert_eq!(of("out/../../beside"), root.parent().map(|folder| folder.join("beside")));
        assert_eq!(of("/usr"), Some(PathBuf::from("/usr")));
    }
}
