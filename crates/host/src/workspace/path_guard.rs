//! The path guard: [`Workspace`] resolves every path that a tool, a check or a process may use,
//! and refuses path traversal.

use super::content::{Content, MAX_HASHED, link_digest};
use super::content_cache::ContentCache;
use super::dir_handle::{DirHandle, OpenedPath, kind_of, state_of};
use super::git_list::ListGitSettings;
use super::git_settings::GitSources;
use super::ignore_rules::{IgnoreFiles, IgnoreRules, ParsedIgnoreFiles};
use super::index_rules::IndexRules;
use super::own_writes::OwnWrites;
use super::path_error::{PathError, refused, wrong_kind};
use super::path_text::{in_project, shown, stored_forms};
use super::protected_paths::ProtectedPaths;
use super::state_before::{StateBefore, StatesBefore};
use super::tracked_files::TrackedFiles;
use kb_core::evidence::{FileKind, FileState};
use rustix::fs::AtFlags;
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The files that tools and checks may access: one root to read and write, further roots to read.
///
/// The kernel resolves every path of a tool, check or working directory beneath open directory
/// handles; texts of paths are never compared. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Workspace {
    roots: Arc<Roots>,
    /// Where the states before all steps of the project are stored.
    pub(super) states: Option<StatesBefore>,
    /// Where the state of the files before a step is stored.
    before: Option<StateBefore>,
    /// Rules for the index of the workspace.
    pub(super) index: Arc<IndexRules>,
    /// Whether no person is asked to approve the changes of commands.
    pub(super) is_unasked: bool,
}

#[derive(Debug)]
struct Roots {
    root: DirHandle,
    /// The root as it was given; its path may contain links.
    alias: PathBuf,
    read: Vec<DirHandle>,
    protected: ProtectedPaths,
    known: ContentCache,
    own_writes: Arc<OwnWrites>,
    /// The ignore files that apply whatever is on disk.
    ignore_files: Option<Arc<ParsedIgnoreFiles>>,
    /// The files that git tracks, once they were asked for.
    tracked: Mutex<Option<Arc<TrackedFiles>>>,
}

/// An existing path inside one of the roots.
pub(crate) struct LocatedPath {
    pub(super) found: OpenedPath,
    /// Relative to the workspace; absolute in another read root.
    pub(crate) shown: String,
    /// The real, absolute path.
    pub(crate) full: PathBuf,
    root: usize,
}

impl LocatedPath {
    /// The kind of the file; a link was followed.
    pub(crate) fn kind(&self) -> FileKind {
        kind_of(&self.found.stat)
    }

    /// Stat data, without a digest.
    pub(crate) fn state(&self) -> FileState {
        state_of(&self.found.stat)
    }

    /// The prefix of shown paths in the same root: empty in the workspace, else the root and `/`.
    pub(crate) fn prefix(&self, workspace: &Workspace) -> String {
        match self.root {
            0 => String::new(),
            more => format!("{}/", workspace.folder(more).path.display()),
        }
    }
}

impl Workspace {
    /// Opens the workspace. `read_roots` are further directories that may be read. `protected` are
    /// paths, absolute or relative to the root, that may not be written, in addition to
    /// definitions, settings and `.git`.
    pub fn open(
        root: &Path,
        read_roots: &[PathBuf],
        protected: &[PathBuf],
    ) -> std::io::Result<Workspace> {
        let alias = std::path::absolute(root)?;
        let root = DirHandle::open(root)?;
        let read = read_roots.iter().map(|path| DirHandle::open(path)).collect::<Result<_, _>>()?;
        let protected = ProtectedPaths::new(&root.path, protected);
        Ok(Workspace::of(root, alias, read, protected, None))
    }

    /// [`Workspace::open`] without further directories. Paths that the settings of git name are protected too, and `named`,
    /// from which the settings of `kb` read values. With `ignore_files`, evidence and gates use these ignore files instead
    /// of those on disk.
    pub fn of_run(
        root: &Path,
        (protected, named): (&[PathBuf], Vec<PathBuf>),
        git: Arc<dyn ListGitSettings>,
        ignore_files: Option<&IgnoreFiles>,
    ) -> std::io::Result<Workspace> {
        let alias = std::path::absolute(root)?;
        let root = DirHandle::open(root)?;
        let protected = ProtectedPaths::new(&root.path, protected);
        let protected = protected.with_git(GitSources::new(git)).with_named(named);
        let ignore_files = ignore_files.map(ParsedIgnoreFiles::of).map(Arc::new);
        Ok(Workspace::of(root, alias, Vec::new(), protected, ignore_files))
    }

    /// The workspace of a step in a worktree or copy: the same rules for another directory.
    pub(crate) fn rooted_at(&self, root: &Path) -> std::io::Result<Workspace> {
        let alias = std::path::absolute(root)?;
        let root = DirHandle::open(root)?;
        let protected = self.roots.protected.elsewhere(&root.path);
        let ignore_files = self.roots.ignore_files.clone();
        let tree = Workspace::of(root, alias, Vec::new(), protected, ignore_files);
        let (states, index) = (self.states.clone(), self.index.clone());
        Ok(Workspace { states, index, is_unasked: self.is_unasked, ..tree })
    }

    fn of(
        root: DirHandle,
        alias: PathBuf,
        read: Vec<DirHandle>,
        protected: ProtectedPaths,
        ignore_files: Option<Arc<ParsedIgnoreFiles>>,
    ) -> Workspace {
        let known = ContentCache::default();
        let own_writes = Arc::default();
        let tracked = Mutex::default();
        let roots =
            Roots { root, alias, read, protected, known, own_writes, ignore_files, tracked };
        let (states, before, index) = (None, None, Arc::default());
        Workspace { roots: Arc::new(roots), states, before, index, is_unasked: false }
    }

    /// The same files for a step: what they were before it changes them is stored.
    pub(crate) fn with_state_before(&self, before: StateBefore) -> Workspace {
        Workspace { before: Some(before), ..self.clone() }
    }

    /// The same files of a project in whose state folder the states before its steps are.
    #[must_use]
    pub fn with_states(self, states: StatesBefore) -> Workspace {
        Workspace { states: Some(states), ..self }
    }

    /// Where the state of the files before the step is stored.
    pub(crate) fn state_before(&self) -> Option<&StateBefore> {
        self.before.as_ref()
    }

    /// The ignore rules for evidence and gates, before any directory is entered.
    pub(super) fn ignore_rules(&self) -> IgnoreRules {
        IgnoreRules::new(self.roots.ignore_files.clone())
    }

    /// The real path of the workspace root.
    pub fn root(&self) -> &Path {
        &self.roots.root.path
    }

    /// The current state of a path, with the digest of a regular file; `None` if it does not exist.
    /// A link that stays inside is followed.
    pub fn stat(&self, path: &str) -> Result<Option<FileState>, PathError> {
        match self.locate(path) {
            Ok(located) => self.observed(&located).map(Some),
            Err(PathError::Missing(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The same for the path itself: of a link, the state of the link and the digest of its target,
    /// whether the target exists or not. A link that leads out of the workspace is refused.
    pub fn symlink_stat(&self, path: &str) -> Result<Option<FileState>, PathError> {
        let seen = self.stat(path)?;
        let (root, rel) = self.relative(path)?;
        let link = |rel: PathBuf| {
            let (name, parent) = (rel.file_name()?, rel.parent()?);
            let parent = self.folder(root).find(parent).ok()?;
            let stat = rustix::fs::statat(&parent.fd, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
            let state = state_of(&stat);
            let sha256 = link_digest(&parent.fd, name);
            (state.kind == FileKind::Symlink).then_some(FileState { sha256, ..state })
        };
        Ok(stored_forms(&rel).into_iter().find_map(link).or(seen))
    }

    /// An existing directory, as the working directory of a process; empty is the root.
    pub fn cwd(&self, path: &str) -> Result<PathBuf, PathError> {
        if path.is_empty() {
            return Ok(self.root().to_owned());
        }
        let located = self.locate(path)?;
        if located.root != 0 {
            return Err(PathError::Outside(path.to_owned()));
        }
        match located.kind() {
            FileKind::Directory => Ok(located.full),
            kind => Err(wrong_kind(path, kind, "a directory")),
        }
    }

    /// Resolves a path for reading.
    pub(crate) fn locate(&self, path: &str) -> Result<LocatedPath, PathError> {
        let (root, rel) = self.relative(path)?;
        let folder = self.folder(root);
        let mut last = Errno::NOENT;
        for form in stored_forms(&rel) {
            match folder.find(&form) {
                Ok(found) => {
                    let located = self.located(root, found);
                    if self.is_state_of_kb(&located.full) {
                        return Err(PathError::State(path.to_owned()));
                    }
                    return Ok(located);
                }
                Err(error) => last = error,
            }
            if last != Errno::NOENT {
                break;
            }
        }
        Err(refused(path, last))
    }

    fn located(&self, root: usize, found: OpenedPath) -> LocatedPath {
        let full = self.folder(root).path.join(&found.real);
        let shown = if root == 0 { shown(&found.real) } else { full.display().to_string() };
        LocatedPath { found, shown, full, root }
    }

    /// Opens a located path for reading; only regular files can be opened.
    pub(crate) fn open_file(&self, located: &LocatedPath) -> Result<File, PathError> {
        let wanted = "a file";
        if located.kind() != FileKind::File {
            return Err(wrong_kind(&located.shown, located.kind(), wanted));
        }
        let fd = self
            .folder(located.root)
            .open_read(&located.found)
            .map_err(|error| refused(&located.shown, error))?;
        let stat = rustix::fs::fstat(&fd).map_err(|error| refused(&located.shown, error))?;
        match kind_of(&stat) {
            FileKind::File => Ok(File::from(fd)),
            kind => Err(wrong_kind(&located.shown, kind, wanted)),
        }
    }

    /// Stat data with the digest of a regular file of at most [`MAX_HASHED`] bytes.
    pub(super) fn observed(&self, located: &LocatedPath) -> Result<FileState, PathError> {
        let mut state = located.state();
        if state.kind == FileKind::File && state.size <= MAX_HASHED {
            state.sha256 = self.content(located)?.sha256;
        }
        Ok(state)
    }

    /// The content of a located regular file.
    pub(super) fn content(&self, located: &LocatedPath) -> Result<Content, PathError> {
        let content = Content::of(self.open_file(located)?);
        content.map_err(|error| PathError::io(&located.shown, error))
    }

    /// Splits a path into the index of its root (0 is the workspace) and the rest.
    pub(super) fn relative(&self, path: &str) -> Result<(usize, String), PathError> {
        if path.is_empty() {
            return Err(PathError::Empty);
        }
        if path.contains('\0') {
            return Err(PathError::Nul);
        }
        let given = Path::new(path);
        if !given.is_absolute() {
            return Ok((0, path.to_owned()));
        }
        let roots = [(0, self.root()), (0, self.roots.alias.as_path())];
        let more = self.roots.read.iter().enumerate().map(|(i, root)| (i + 1, root.path.as_path()));
        roots
            .into_iter()
            .chain(more)
            .find_map(|(i, root)| {
                let rest = given.strip_prefix(root).ok()?.to_string_lossy().into_owned();
                Some((i, if rest.is_empty() { ".".to_owned() } else { rest }))
            })
            .or_else(|| Some((0, in_project(given)?)))
            .ok_or_else(|| PathError::Outside(path.to_owned()))
    }

    /// Refuses a real path, relative to the workspace, that is protected.
    pub(crate) fn check_writable(&self, path: &str, real: &Path) -> Result<(), PathError> {
        self.require_hooks_elsewhere()?;
        match self.roots.protected.protecting(&self.roots.root, real) {
            Some(protected) => Err(PathError::Protected { path: path.to_owned(), protected }),
            None => Ok(()),
        }
    }

    /// The paths that tools may not change.
    pub(super) fn protected(&self) -> &ProtectedPaths {
        &self.roots.protected
    }

    /// The protected paths that exist now and can be made read-only for a whole process.
    /// `git_data` leaves the data of the repository writable.
    pub(crate) fn protected_now(&self, git_data: bool) -> Vec<PathBuf> {
        self.roots.protected.present(self.root(), git_data)
    }

    /// The paths in it that settings of git name or links of definitions lead to. Blocks.
    pub(super) fn code_sources(&self) -> Vec<PathBuf> {
        self.roots.protected.sources(self.root())
    }

    /// The same paths and those elsewhere. Blocks.
    pub(crate) fn all_code_sources(&self) -> BTreeSet<PathBuf> {
        self.roots.protected.all_sources(self.root()).paths.clone()
    }

    /// Refuses to let others write to the workspace if git executes hooks of the workspace itself, or does not tell what it
    /// executes: each new file could be a hook. Blocks.
    pub fn require_hooks_elsewhere(&self) -> Result<(), PathError> {
        self.roots.protected.all_sources(self.root()).refused.clone().map_or(Ok(()), Err)
    }

    /// A command ended that may have changed what names the [code sources](Workspace::all_code_sources).
    pub(crate) fn forget_code_sources(&self) {
        self.roots.protected.forget_sources();
    }

    /// The files that git tracked when this was asked first, or after the last [`Workspace::refresh_tracked`]. Blocks.
    pub(super) fn tracked(&self) -> Arc<TrackedFiles> {
        let mut known = self.roots.tracked.lock().unwrap_or_else(PoisonError::into_inner);
        let read = || Arc::new(TrackedFiles::of(self.root(), self.git_sources()));
        known.get_or_insert_with(read).clone()
    }

    /// Git is asked again if it has changed its index. Two manifests that are compared need the same answer. Blocks.
    pub(super) fn refresh_tracked(&self) {
        let mut known = self.roots.tracked.lock().unwrap_or_else(PoisonError::into_inner);
        known.take_if(|tracked| tracked.are_old());
    }

    /// Knows what the settings of git name.
    pub(crate) fn git_sources(&self) -> Option<&GitSources> {
        self.roots.protected.git()
    }

    /// The handle of the workspace root, the only root that may be written.
    pub(super) fn writable(&self) -> &DirHandle {
        &self.roots.root
    }

    /// Opens a directory, relative to the root of a located path.
    pub(super) fn open_folder(
        &self,
        located: &LocatedPath,
        rel: &Path,
    ) -> rustix::io::Result<rustix::fd::OwnedFd> {
        self.folder(located.root).open_folder(rel)
    }

    /// The absolute path of `rel` in the root of a located path.
    pub(super) fn full(&self, located: &LocatedPath, rel: &Path) -> PathBuf {
        self.folder(located.root).path.join(rel)
    }

    /// The writes of `kb` itself while something is watched.
    pub(super) fn own_writes(&self) -> &Arc<OwnWrites> {
        &self.roots.own_writes
    }

    /// The cached contents of small files.
    pub(super) fn content_cache(&self) -> &ContentCache {
        &self.roots.known
    }

    fn folder(&self, root: usize) -> &DirHandle {
        match root {
            0 => &self.roots.root,
            more => &self.roots.read[more - 1],
        }
    }
}
