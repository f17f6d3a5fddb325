use super::path_text::shown;
use ignore::{DirEntry, WalkBuilder};
use std::path::{Path, PathBuf};

/// One thing below a folder.
pub(super) struct Entry {
    /// Relative to the root, as it is on disk.
    pub(super) rel: PathBuf,
    /// Relative to the root, as it is shown.
    pub(super) shown: String,
    pub(super) entry: DirEntry,
}

impl Entry {
    /// Whether it is a regular file.
    pub(super) fn is_file(&self) -> bool {
        self.entry.file_type().is_some_and(|kind| kind.is_file())
    }
}

/// Everything below `base` (relative to `root`, real), in path order, without following links:
/// hidden files too, `.git` and what `.gitignore` files name not, unless `base` itself is ignored.
pub(super) fn walk(root: &Path, base: &Path, depth: Option<usize>) -> impl Iterator<Item = Entry> {
    let above = base.components().count();
    let ignored = above > 0 && is_ignored(root, base);
    let (start, skip) = if ignored { (root.join(base), 0) } else { (root.to_owned(), above) };
    let towards = root.join(base);
    let mut builder = builder(&start);
    builder
        .max_depth(depth.map(|depth| depth + skip))
        .sort_by_file_name(|a, b| a.cmp(b))
        .filter_entry(move |entry| {
            let path = entry.path();
            entry.file_name() != ".git" && (path.starts_with(&towards) || towards.starts_with(path))
        });
    let root = root.to_owned();
    builder.build().filter_map(move |entry| {
        let entry = entry.ok()?;
        if entry.depth() <= skip {
            return None;
        }
        let rel = entry.path().strip_prefix(&root).ok()?.to_owned();
        Some(Entry { shown: shown(&rel), rel, entry })
    })
}

/// The rules by which files of a workspace count: the same on every machine, so the user's own
/// ignore files and those above the workspace have no say.
pub(super) fn builder(start: &Path) -> WalkBuilder {
    let mut builder = WalkBuilder::new(start);
    builder
        .hidden(false)
        .parents(false)
        .ignore(false)
        .git_global(false)
        .git_exclude(true)
        .git_ignore(true)
        .require_git(false)
        .follow_links(false)
        .threads(1);
    builder
}

/// Whether the ignore rules hide a folder: a walk towards it never meets it.
fn is_ignored(root: &Path, base: &Path) -> bool {
    let towards = root.join(base);
    let filter = towards.clone();
    let mut builder = builder(root);
    builder
        .max_depth(Some(base.components().count()))
        .filter_entry(move |entry| filter.starts_with(entry.path()));
    !builder.build().flatten().any(|entry| entry.path() == towards)
}
