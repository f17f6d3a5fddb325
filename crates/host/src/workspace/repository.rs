//! Repository data outside of the workspace that `git` commands need to read.

use kb_attempt::read_regular;
use std::path::{Path, PathBuf};

/// The text of a file that names a folder. What is no file, or longer, is not read: others may have put it there.
pub(super) fn short_text(path: &Path) -> Option<String> {
    const MOST: usize = 64 * 1024;
    String::from_utf8(read_regular(path, MOST).ok()?).ok()
}

/// The paths that `git` reads outside of a workspace that is a part of a repository: the `.git` of
/// a directory above it, or the repository of a linked work tree.
///
/// A `.git` file in the workspace is followed only if the repository names the workspace as well.
/// Otherwise a step that writes such a file could choose what may be read elsewhere.
pub(crate) fn repository_outside(root: &Path) -> Vec<PathBuf> {
    let own = root.join(".git");
    match own.symlink_metadata() {
        Ok(found) if found.is_file() => work_tree(&own).unwrap_or_default(),
        Ok(_) => Vec::new(),
        Err(_) => {
            let above = root.ancestors().skip(1).map(|folder| folder.join(".git"));
            above.into_iter().find(|git| git.is_dir()).into_iter().collect()
        }
    }
}

/// The main repository of a linked work tree.
fn work_tree(file: &Path) -> Option<Vec<PathBuf>> {
    let read = |path: &Path| Some(short_text(path)?.trim_end().to_owned());
    let text = read(file)?;
    let folder = file.parent()?.join(text.strip_prefix("gitdir: ")?).canonicalize().ok()?;
    let back = folder.join(read(&folder.join("gitdir"))?).canonicalize().ok()?;
    let common = folder.join(read(&folder.join("commondir"))?).canonicalize().ok()?;
    let is_ours = back == file.canonicalize().ok()?;
    let inside = folder.starts_with(common.join("worktrees"));
    (is_ours && inside).then(|| vec![common])
}
