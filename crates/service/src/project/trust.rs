//! Whose projects a user runs: the owner of `.kb` decides what `kb` executes.

use rustix::process::geteuid;
use std::collections::BTreeSet;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// File in the state of a project: the users besides its own whom this user trusts with it, one number on each line.
const TRUSTED: &str = "trusted-owners";

/// Why a folder has no project that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoFolder {
    /// Neither the folder nor one above it has `.kb/`.
    Missing,
    /// Its project belongs to a user who is not trusted.
    OfOthers {
        /// The project folder or its `.kb`.
        path: PathBuf,
        /// The number of its owner.
        owner: u32,
    },
}

/// Fails if a project folder or its `.kb` belongs to a user other than this one and root, whom this user does not trust.
/// Root trusts the owner of the folder `start` in which it works. `state` is the folder with the state of the project.
pub(super) fn require(root: &Path, start: &Path, state: &Path) -> Result<(), NoFolder> {
    let user = geteuid().as_raw();
    let of_start = start.metadata().map(|found| found.uid()).ok();
    let mut others = owners(root);
    others.retain(|(_, owner)| !is_trusted(*owner, user, of_start));
    if others.is_empty() {
        return Ok(());
    }
    let known = std::fs::read_to_string(state.join(TRUSTED)).unwrap_or_default();
    let known: BTreeSet<u32> = known.lines().filter_map(|line| line.parse().ok()).collect();
    match others.into_iter().find(|(_, owner)| !known.contains(owner)) {
        Some((path, owner)) => Err(NoFolder::OfOthers { path, owner }),
        None => Ok(()),
    }
}

/// Trusts the owners that a project has now, for this user. Returns their numbers.
pub(super) fn trust(root: &Path, state: &Path) -> io::Result<BTreeSet<u32>> {
    let owners: BTreeSet<u32> = owners(root).into_iter().map(|(_, owner)| owner).collect();
    kb_database::private_folder(state)?;
    let lines: String = owners.iter().map(|owner| format!("{owner}\n")).collect();
    kb_attempt::replace_file(&state.join(TRUSTED), lines.as_bytes())?;
    Ok(owners)
}

/// A project folder and its `.kb` with their owners; of a link, the owners of the link and of what it leads to.
fn owners(root: &Path) -> Vec<(PathBuf, u32)> {
    let of = |path: &Path| {
        let found = [path.symlink_metadata(), path.metadata()];
        let owners = found.into_iter().flatten().map(|found| (path.to_owned(), found.uid()));
        owners.collect::<Vec<_>>()
    };
    [of(root), of(&root.join(".kb"))].concat()
}

/// Whether a user trusts the owner of a project in whose folder, of the owner `of_start`, it works.
fn is_trusted(owner: u32, user: u32, of_start: Option<u32>) -> bool {
    [0, user].contains(&owner) || user == 0 && of_start == Some(owner)
}

#[cfg(test)]
mod tests {
    use super::super::ProjectFolder;
    use super::{NoFolder, is_trusted};
    use std::os::unix::fs::chown;

    #[test]
    fn a_user_trusts_itself_and_root_and_root_those_in_whose_folder_it_works() {
        for (owner, user, of_start, expected) in [
            (1000, 1000, 1000, true),
            (0, 1000, 1000, true),
            (1001, 1000, 1000, false),
            (1001, 1000, 1001, false),
            (1001, 0, 1001, true),
            (1001, 0, 0, false),
            (1001, 0, 1002, false),
        ] {
            assert_eq!(
                is_trusted(owner, user, Some(of_start)),
                expected,
                "{owner} {user} {of_start}"
            );
        }
    }

    /// As root, who can give files to others.
    #[test]
    fn root_uses_projects_of_others_only_in_their_folders_or_if_it_trusts_them() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let state = tempfile::tempdir().unwrap();
        let (root, own) = (folder.path().canonicalize().unwrap(), folder.path().join("own"));
        let (kb, theirs) = (root.join(".kb"), folder.path().join("theirs"));
        for path in [&kb, &own, &theirs] {
            std::fs::create_dir(path).unwrap();
        }
        let found = ProjectFolder::find(&own, state.path()).unwrap();
        assert_eq!(found.root(), root);
        for path in [&kb, &theirs] {
            chown(path, Some(65_534), None).unwrap();
        }
        let refused = Err(NoFolder::OfOthers { path: kb.clone(), owner: 65_534 });
        assert_eq!(ProjectFolder::find(&own, state.path()), refused);
        assert_eq!(ProjectFolder::find(&theirs, state.path()), Ok(found.clone()));
        found.trust(state.path()).unwrap();
        assert_eq!(ProjectFolder::find(&own, state.path()), Ok(found));
        chown(&root, Some(65_533), None).unwrap();
        let refused = Err(NoFolder::OfOthers { path: root, owner: 65_533 });
        assert_eq!(ProjectFolder::find(&own, state.path()), refused);
    }
}
