//! Detects changes to protected paths around a process that may not change them.

use super::content::{Content, MAX_HASHED, link_digest};
use super::dir_handle::{FOLDER, MAX_DEPTH, MAX_ENTRIES};
use super::dir_handle::{kind_of, open_file_at, state_of};
use super::manifest::MAX_FILES;
use super::path_error::PathError;
use super::path_guard::Workspace;
use super::path_text::{Spelling, nfc};
use super::protected_names::{ANYWHERE, normalized};
use super::state_before::StoredProtected;
use super::watch_rules::{Place, WatchMode};
use super::work_trees::{is_made_by_git, own_trees, work_tree_of};
use kb_base::value::Digest;
use kb_clock::file_time;
use kb_core::evidence::{Change, FileKind, FileState, Manifest};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Dir, DirEntry, FileType, Mode};
use rustix::io::Errno;
use std::collections::{BTreeSet, HashSet};
use std::ffi::{CStr, OsStr};
use std::io::Error;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The protected paths before a process, by content. Ignored files and `.git` are included. A file is read again unless the
/// kernel says that it did not change (the time of the change of its stat data, which nothing sets). Repositories and settings are
/// searched in the whole workspace.
///
/// The state directory of `kb` is left out, because `kb` itself writes it.
pub(crate) struct ProtectedWatch {
    workspace: Workspace,
    /// The code sources from before, relative to the workspace.
    sources: Vec<String>,
    git_is_open: bool,
    before: Manifest,
    /// The repositories and settings in subfolders from before, relative to the workspace.
    nested: BTreeSet<PathBuf>,
    /// The work trees of git from before that are those of steps.
    trees: BTreeSet<String>,
    /// Why `before` is not stored.
    unstored: Option<Error>,
}

impl ProtectedWatch {
    /// Reads the protected paths. `git_is_open` says whether the process may write to repositories. Blocks.
    pub(crate) fn begin(workspace: &Workspace, git_is_open: bool) -> Self {
        let (root, sources) = (workspace.root(), workspace.code_sources());
        let sources = sources.iter().filter_map(|path| path.strip_prefix(root).ok());
        let sources: Vec<String> = sources.map(|path| nfc(path.display().to_string())).collect();
        let (before, nested) = look(workspace, &sources, git_is_open);
        // Without a complete state, the command does not start.
        let stored = workspace.state_before().filter(|_| !before.truncated).map(|stored| {
            let (sources, files) = (sources.clone(), before.clone());
            let state = StoredProtected { sources, git_is_open, files, ..Default::default() };
            stored.store_protected(state, root)
        });
        let unstored = stored.and_then(Result::err);
        let (workspace, trees) = (workspace.clone(), own_trees(workspace, &before));
        ProtectedWatch { workspace, sources, git_is_open, before, nested, trees, unstored }
    }

    /// The repositories and settings in subfolders that exist now.
    pub(crate) fn nested(&self) -> Vec<PathBuf> {
        let root = self.workspace.root();
        self.nested.iter().map(|path| root.join(path)).collect()
    }

    /// Reads them again and returns the changes. Blocks.
    pub(crate) fn end(self) -> Vec<Change> {
        let (after, _) = look(&self.workspace, &self.sources, self.git_is_open);
        let mut trees = self.trees;
        trees.extend(own_trees(&self.workspace, &after));
        changes_between(&self.before, &after, &trees)
    }

    /// Refuses a workspace whose protected paths cannot be compared, also if this process is killed.
    pub(crate) fn require_complete(&self) -> Result<(), PathError> {
        let message = format!(
            "the project has more than {MAX_ENTRIES} entries or {MAX_FILES} protected files"
        );
        match (self.before.truncated, &self.unstored) {
            (true, _) => Err(PathError::TooMuch(message)),
            (false, Some(error)) => Err(PathError::unstored(error)),
            (false, None) => Ok(()),
        }
    }
}

impl Workspace {
    /// The protected paths that changed since they were stored. Blocks.
    pub(super) fn protected_changes(&self, stored: &StoredProtected) -> Vec<Change> {
        let (after, _) = look(self, &stored.sources, stored.git_is_open);
        changes_between(&stored.files, &after, &own_trees(self, &after))
    }
}

/// In place of the change of a path: what cannot be compared.
pub(super) fn not_compared(what: &str) -> Change {
    Change::new(what.to_owned(), None, Some(NOT_COMPARED))
}

/// Whether a change stands for what cannot be compared.
pub(super) fn is_not_compared(change: &Change) -> bool {
    change.after == Some(NOT_COMPARED)
}

/// `trees`: the work trees of steps, before and after. What git writes when one comes or goes is no change.
fn changes_between(before: &Manifest, after: &Manifest, trees: &BTreeSet<String>) -> Vec<Change> {
    let names = |manifest: &Manifest| -> BTreeSet<String> {
        let names = manifest.files.keys().filter_map(|path| work_tree_of(path));
        names.map(str::to_owned).collect()
    };
    let (then, now) = (names(before), names(after));
    let is_of_tree = |path: &&String| {
        let made = [before, after].into_iter().filter_map(|all| Some((all.files.get(*path)?, all)));
        work_tree_of(path).is_some_and(|name| {
            then.contains(name) != now.contains(name) && (name.is_empty() || trees.contains(name))
        }) && made.into_iter().all(|(state, all)| is_made_by_git(path, state, all))
    };
    let paths: BTreeSet<&String> = before.files.keys().chain(after.files.keys()).collect();
    let paths = paths.into_iter().filter(|path| !is_of_tree(path));
    let grown = (after.truncated && !before.truncated).then(|| not_compared(TOO_MANY));
    paths
        .filter_map(|path| match (before.files.get(path), after.files.get(path)) {
            (Some(a), Some(b)) if is_same(a, b) => None,
            (before, after) => Some(Change::new(path.clone(), before.cloned(), after.cloned())),
        })
        .chain(grown)
        .collect()
}

/// Compares content and mode: a hook that becomes executable is a change.
pub(super) fn is_same(a: &FileState, b: &FileState) -> bool {
    match (a.sha256, b.sha256) {
        _ if a.kind == FileKind::Directory => b.kind == FileKind::Directory,
        (Some(_), Some(_)) => (a.kind, a.mode, a.sha256) == (b.kind, b.mode, b.sha256),
        _ => a.same_stat(b),
    }
}

/// Reads the protected paths. Also returns the repositories and settings in subfolders. Blocks.
pub(super) fn look(
    workspace: &Workspace,
    sources: &[String],
    git_is_open: bool,
) -> (Manifest, BTreeSet<PathBuf>) {
    let (manifest, nested, names) = (Manifest::default(), BTreeSet::new(), Vec::new());
    let sources = sources.iter().map(String::as_str).collect();
    let mut survey =
        Survey { workspace, sources, git_is_open, manifest, nested, names, searched: 0 };
    match workspace.writable().open_folder(Path::new("")) {
        Ok(root) => survey.folder(&root, &At::default(), Place::Open),
        Err(_) => survey.manifest.truncated = true,
    }
    (survey.manifest, survey.nested)
}

/// A walk through the protected paths by directory handles, so that no link diverts it.
struct Survey<'w> {
    workspace: &'w Workspace,
    sources: HashSet<&'w str>,
    git_is_open: bool,
    manifest: Manifest,
    /// The repositories and settings in subfolders.
    nested: BTreeSet<PathBuf>,
    /// The names on the way to the current entry, each normalised with [`normalized`].
    names: Vec<String>,
    /// Number of unprotected entries visited so far.
    searched: usize,
}

/// A path on the way of a survey.
#[derive(Default)]
struct At {
    real: PathBuf,
    /// As it is [written](Spelling).
    written: String,
}

impl At {
    fn below(&self, name: &[u8], spelling: &Spelling) -> At {
        let slash = if self.written.is_empty() { "" } else { "/" };
        let written = format!("{}{slash}{}", self.written, spelling.written(name));
        At { real: self.real.join(OsStr::from_bytes(name)), written }
    }

    fn is_root(&self) -> bool {
        self.written.is_empty()
    }
}

/// In place of a path: there are more entries than are compared, so that protected paths cannot be found.
const TOO_MANY: &str = "more entries than can be compared";
const NOT_COMPARED: FileState = FileState {
    kind: FileKind::Directory,
    size: 0,
    mtime_ns: 0,
    ctime_ns: 0,
    inode: 0,
    mode: 0,
    sha256: None,
};

impl Survey<'_> {
    /// Visits a directory.
    fn folder(&mut self, folder: &OwnedFd, at: &At, place: Place) {
        let Ok(entries) = Dir::read_from(folder) else {
            self.manifest.truncated = true;
            return;
        };
        let entries: Vec<DirEntry> = entries.flatten().collect();
        let has = |name: &str| {
            entries.iter().any(|entry| entry.file_name().to_bytes() == name.as_bytes())
        };
        let found = place.with(at.is_root(), has);
        if place == Place::Open && found != place {
            self.nested.insert(at.real.clone());
        }
        if let (Place::Repository, Ok(stat)) = (found, rustix::fs::fstat(folder)) {
            self.manifest.files.insert(at.written.clone(), state_of(&stat));
        }
        let spelling = Spelling::of(entries.iter().map(|entry| entry.file_name().to_bytes()));
        for entry in &entries {
            if self.manifest.files.len() >= MAX_FILES || self.searched >= MAX_ENTRIES {
                self.manifest.truncated = true;
                return;
            }
            let name = entry.file_name();
            if !matches!(name.to_bytes(), b"." | b"..") {
                let text = OsStr::from_bytes(name.to_bytes()).to_string_lossy();
                self.names.push(normalized(&text));
                self.entry(folder, entry, (at, &spelling), found);
                self.names.pop();
            }
        }
    }

    /// Whether an entry is or lies in a code source.
    fn is_source(&self, above: &At, name: &[u8]) -> bool {
        if self.sources.is_empty() {
            return false;
        }
        let path = nfc(above.real.join(OsStr::from_bytes(name)).to_string_lossy());
        let mut paths =
            std::iter::successors(Some(path.as_str()), |path| Some(path.rsplit_once('/')?.0));
        paths.any(|path| self.sources.contains(path))
    }

    fn entry(
        &mut self,
        folder: &OwnedFd,
        entry: &DirEntry,
        (above, spelling): (&At, &Spelling),
        place: Place,
    ) {
        let name = entry.file_name();
        let stat = || rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
        let is_folder = match entry.file_type() {
            FileType::Directory => true,
            FileType::Unknown => stat().is_ok_and(|stat| kind_of(&stat) == FileKind::Directory),
            _ => false,
        };
        let mode = if self.is_source(above, name.to_bytes()) {
            WatchMode::Content(Place::Protected)
        } else {
            place.mode(&self.names, is_folder, self.git_is_open)
        };
        let inside = match mode {
            WatchMode::Skip => return,
            WatchMode::Descend(inside) => {
                // Most entries are unprotected files; they are not even stat'ed.
                self.searched += 1;
                if !is_folder {
                    return;
                }
                Some(inside)
            }
            WatchMode::Content(inside) => Some(inside),
            WatchMode::Exists => None,
        };
        let at = above.below(name.to_bytes(), spelling);
        if self.workspace.is_state_path(&at.real) {
            return;
        }
        let is_named = self.names.last().is_some_and(|name| ANYWHERE.contains(&name.as_str()));
        if place == Place::Open && is_named && !above.is_root() {
            self.nested.insert(at.real.clone());
        }
        let Ok(stat) = stat() else { return };
        let mut state = state_of(&stat);
        match (state.kind, inside) {
            (FileKind::Directory, Some(inside)) if self.names.len() <= MAX_DEPTH => {
                match rustix::fs::openat(folder, name, FOLDER, Mode::empty()) {
                    Ok(below) => self.folder(&below, &at, inside),
                    // It was replaced meanwhile, and is no folder.
                    Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                    // What it contains cannot be compared, so it counts as protected itself.
                    Err(_) => drop(self.manifest.files.insert(at.written, state)),
                }
            }
            // What lies deeper is not compared, so a folder there counts as protected itself.
            (FileKind::Directory, _) => {
                self.manifest.files.insert(at.written, state);
            }
            _ => {
                let (known, now) = (self.workspace.content_cache(), file_time());
                state.sha256 = known.protected(&at.written, &state);
                if state.sha256.is_none() {
                    state.sha256 = digest(folder, name, state.kind, state.size);
                    known.keep_protected(&at.written, &state, now);
                }
                self.manifest.files.insert(at.written, state);
            }
        }
    }
}

/// The digest of the content of a file or of the target of a link.
pub(super) fn digest(folder: &OwnedFd, name: &CStr, kind: FileKind, size: u64) -> Option<Digest> {
    match kind {
        FileKind::Symlink => link_digest(folder, name),
        FileKind::File if size <= MAX_HASHED => {
            Content::of(open_file_at(folder, name).ok()?).ok()?.sha256
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the names of the folders of repositories, and however many there are.
    #[test]
    fn each_nested_repository_is_compared_and_made_read_only() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &[u8]| dir.path().join(OsStr::from_bytes(name)).join(".git");
        let repository = |name: &[u8]| {
            std::fs::create_dir_all(at(name)).unwrap();
            std::fs::write(at(name).join("config"), name).unwrap();
        };
        (0..70).for_each(|number| repository(format!("r{number}").as_bytes()));
        let workspace = Workspace::open(dir.path(), &[], &[]).unwrap();
        for [one, other] in [["\u{fc}".as_bytes(), "u\u{308}".as_bytes()], [b"z\xff", b"z\xfe"]] {
            repository(one);
            let watch = ProtectedWatch::begin(&workspace, false);
            assert!(
                watch
                    .nested()
                    .contains(&workspace.root().join(OsStr::from_bytes(one)).join(".git"))
            );
            assert!(watch.nested().len() > 70);
            repository(other);
            let changes = watch.end();
            let new = changes.iter().filter(|change| change.path.ends_with(".git/config"));
            assert!(new.clone().any(|change| workspace.is_of_protected(change)), "{changes:?}");
            let left = new
                .filter(|change| workspace.symlink_stat(&change.path).is_ok_and(|s| s.is_some()));
            assert!(left.count() > 0, "{changes:?}");
        }
    }

    /// A survey that is not complete before a command could miss what it changes.
    #[test]
    fn what_cannot_be_compared_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(dir.path(), &[], &[]).unwrap();
        let truncated = Manifest { truncated: true, ..Manifest::default() };
        let watch = |before| ProtectedWatch {
            workspace: workspace.clone(),
            sources: Vec::new(),
            git_is_open: false,
            before,
            nested: BTreeSet::new(),
            trees: BTreeSet::new(),
            unstored: None,
        };
        assert!(watch(Manifest::default()).require_complete().is_ok());
        let refused = watch(truncated.clone()).require_complete().unwrap_err();
        assert!(refused.failure().code == kb_base::diagnostic::Code::PATH_PROTECTED);
        let grown = changes_between(&Manifest::default(), &truncated, &BTreeSet::new());
        assert!(grown.len() == 1 && workspace.is_of_protected(&grown[0]));
    }
}
