use std::path::{Path, PathBuf};

/// What `git` reads outside of a workspace that is a part of a repository: the `.git` of a folder
/// above it, or the repository that its work tree belongs to.
///
/// A `.git` file of the workspace is believed only where the repository names the workspace too:
/// who writes files here must not choose what may be read elsewhere.
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

/// The folder of a work tree in its repository, and the repository.
fn work_tree(file: &Path) -> Option<Vec<PathBuf>> {
    let named = |path: &Path| {
        let text = std::fs::read_to_string(path).ok()?;
        Some(text.trim_end().to_owned())
    };
    let text = named(file)?;
    let folder = file.parent()?.join(text.strip_prefix("gitdir: ")?).canonicalize().ok()?;
    let back = folder.join(named(&folder.join("gitdir"))?).canonicalize().ok()?;
    let common = folder.join(named(&folder.join("commondir"))?).canonicalize().ok()?;
    let ours = back == file.canonicalize().ok()?;
    let inside = folder.starts_with(common.join("worktrees"));
    (ours && inside).then(|| vec![common])
}
