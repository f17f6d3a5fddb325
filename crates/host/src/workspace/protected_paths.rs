//! Protected paths: which paths tools may read and never change.

use super::code_sources::{CodeSources, code_sources};
use super::dir_handle::{DirHandle, FileId, MAX_DEPTH};
use super::git_settings::GitSources;
use super::protected_names::{
    ANYWHERE, AT_ROOT, GIT, GIT_NESTED, is_git_data, is_git_folder, normalized, protected_name,
    shown_name,
};
use super::real_path::{links_on_the_way, real};
use kb_clock as clock;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long the list of code sources is used before it is read again, at least.
const SOURCES_VALID: Duration = Duration::from_millis(10);
/// How many times longer than it took to read it.
const SOURCES_SHARE: u32 = 10;

/// Until when the sources are used, and the sources.
type CachedSources = Option<(Instant, Arc<CodeSources>)>;

/// Paths that tools may read and never change: definitions and settings, repository data and the
/// state directory of `kb`. They are protected before they exist.
///
/// Existing paths are compared by identity, so that no other form of a name leads there. Paths
/// that do not exist yet are compared by normalised names.
#[derive(Debug, Clone)]
pub(super) struct ProtectedPaths {
    further: Vec<PathBuf>,
    /// The further paths of the project, also those that contain the root of a step's own files.
    state: Arc<[PathBuf]>,
    git: Option<GitSources>,
    /// What the settings of `kb` read values from, as their author named it.
    named: Arc<[PathBuf]>,
    /// The result of [`code_sources`].
    sources: Arc<Mutex<CachedSources>>,
}

impl ProtectedPaths {
    /// `further` are further paths: absolute, or relative to the root.
    pub(super) fn new(root: &Path, further: &[PathBuf]) -> Self {
        let further: Vec<PathBuf> =
            further.iter().map(|protected| real(&root.join(protected))).collect();
        ProtectedPaths {
            state: further.as_slice().into(),
            further,
            git: None,
            named: Arc::default(),
            sources: Arc::default(),
        }
    }

    /// The same paths for another root, which may lie in one of the further paths.
    pub(super) fn elsewhere(&self, root: &Path) -> Self {
        let mut further = self.further.clone();
        further.retain(|path| !root.starts_with(path));
        ProtectedPaths { further, sources: Arc::default(), ..self.clone() }
    }

    /// The state of `kb`, which no setting opens for a command.
    pub(super) fn state(&self) -> &[PathBuf] {
        &self.state
    }

    /// Also protects paths that the settings of git name.
    pub(super) fn with_git(self, git: GitSources) -> Self {
        ProtectedPaths { git: Some(git), ..self }
    }

    /// Also protects files from which the settings of `kb` read values, relative to the root or absolute.
    pub(super) fn with_named(self, named: Vec<PathBuf>) -> Self {
        ProtectedPaths { named: named.into(), ..self }
    }

    /// Knows what the settings of git name.
    pub(super) fn git(&self) -> Option<&GitSources> {
        self.git.as_ref()
    }

    /// The paths in the root that settings of git name or links of definitions lead to.
    pub(super) fn sources(&self, root: &Path) -> Vec<PathBuf> {
        let is_inside = |path: &PathBuf| path != root && path.starts_with(root);
        let all = self.all_sources(root);
        let mut sources: Vec<PathBuf> =
            all.paths.iter().filter(|path| is_inside(path)).cloned().collect();
        sources.retain(|path| !path.starts_with(root.join(GIT)) && !self.further.contains(path));
        sources
    }

    /// The same paths and those elsewhere, and whether all files of the root may be hooks of git.
    pub(super) fn all_sources(&self, root: &Path) -> Arc<CodeSources> {
        let mut cached = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        let begin = clock::instant();
        if let Some((until, sources)) = &*cached
            && begin < *until
        {
            return sources.clone();
        }
        let mut sources = code_sources(root, self.git.as_ref());
        for path in self.named.iter().map(|path| root.join(path)) {
            sources.paths.extend(links_on_the_way(&path));
            sources.paths.insert(real(&path));
        }
        let sources = Arc::new(sources);
        let end = clock::instant();
        let valid = SOURCES_VALID.max(end.duration_since(begin) * SOURCES_SHARE);
        *cached = Some((end + valid, sources.clone()));
        sources
    }

    /// The paths are read again when they are asked for next: a command may have changed what names them.
    pub(super) fn forget_sources(&self) {
        *self.sources.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The protected paths that exist now and can be made read-only for a whole process. Links are
    /// left out: their targets are protected. If `git_data` is set, the data of the repository stays
    /// writable.
    pub(super) fn present(&self, root: &Path, git_data: bool) -> Vec<PathBuf> {
        let at_root = AT_ROOT.iter().map(|name| root.join(name)).chain([root.join(".kb")]);
        let git = root.join(GIT);
        let in_git = if git_data && git.is_dir() { closed_in_git(&git) } else { vec![git] };
        let inside = self.further.iter().filter(|protected| protected.starts_with(root)).cloned();
        at_root
            .chain(in_git)
            .chain(inside)
            .chain(self.sources(root))
            .filter(|protected| protected.symlink_metadata().is_ok_and(|found| !found.is_symlink()))
            .collect()
    }

    /// The further paths that lie in the root, relative to it.
    pub(super) fn further_inside(&self, root: &Path) -> Vec<PathBuf> {
        let inside = self.further.iter().filter_map(|protected| protected.strip_prefix(root).ok());
        inside.map(Path::to_owned).collect()
    }

    /// Whether a real path, relative to the root, lies in one of the further paths.
    pub(super) fn is_further(&self, root: &Path, real: &Path) -> bool {
        let full = root.join(real);
        self.further.iter().any(|protected| full.starts_with(protected))
    }

    /// The protected path that contains a real path, relative to the root.
    pub(super) fn protecting(&self, root: &DirHandle, real: &Path) -> Option<String> {
        let normalized_names: Vec<String> =
            names(real).map(|name| normalized(&name.to_string_lossy())).collect();
        if let Some(protected) = protected_name(&normalized_names) {
            return Some(shown_name(protected));
        }
        if normalized_names.len() > MAX_DEPTH {
            return Some(format!("what lies below {MAX_DEPTH} folders"));
        }
        if let Some(repository) = repository_around(root, real) {
            return Some(format!("{}/", repository.display()));
        }
        let full = root.path.join(real);
        let further = self.further.iter().find(|protected| full.starts_with(protected));
        if let Some(protected) = further {
            return Some(protected.display().to_string());
        }
        let sources = self.sources(&root.path);
        if let Some(protected) = sources.iter().find(|protected| full.starts_with(protected)) {
            return Some(
                protected.strip_prefix(&root.path).unwrap_or(protected).display().to_string(),
            );
        }
        self.same(root, real)
    }

    /// The protected path that has the identity of a directory on the way, whatever its name.
    fn same(&self, root: &DirHandle, real: &Path) -> Option<String> {
        let all: Vec<PathBuf> =
            self.further.iter().cloned().chain(self.sources(&root.path)).collect();
        let identities = all.iter().map(|protected| FileId::of(protected));
        let further: Vec<_> = identities.zip(&all).collect();
        let mut at = PathBuf::new();
        for name in names(real) {
            let above = at.clone();
            at.push(name);
            let found = root.identity(&at)?;
            let is = |protected: &Path| root.identity(protected) == Some(found);
            let at_root: &[&str] = if above.as_os_str().is_empty() { &AT_ROOT } else { &[] };
            let known = at_root.iter().chain(&ANYWHERE).find(|name| is(&above.join(name)));
            if let Some(name) = known {
                return Some(shown_name(name));
            }
            if let Some((_, protected)) =
                further.iter().find(|(protected, _)| *protected == Some(found))
            {
                return Some(protected.display().to_string());
            }
        }
        None
    }
}

/// The folder at or around a path that is a repository without `.git` in its name, or becomes one with this path.
fn repository_around(root: &DirHandle, real: &Path) -> Option<PathBuf> {
    let mut above = PathBuf::new();
    for name in names(real) {
        let has = |entry: &str| name == entry || root.identity(&above.join(entry)).is_some();
        if !above.as_os_str().is_empty() && is_git_folder(has) {
            return Some(above);
        }
        above.push(name);
    }
    is_git_folder(|entry| root.identity(&above.join(entry)).is_some()).then_some(above)
}

/// What an opened repository leaves out: everything in it that is no data, also in the repositories of its submodules and
/// in its further work trees.
pub(super) fn closed_in_git(git: &Path) -> Vec<PathBuf> {
    let mut closed = Vec::new();
    let mut open = vec![(git.to_owned(), true)];
    while let Some((folder, is_repository)) = open.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), normalized(&entry.file_name().to_string_lossy()));
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_repository && is_git_data(&name) {
                continue;
            }
            if is_folder && !is_repository {
                // Below `modules` and `worktrees`.
                let is_repository = is_git_folder(|name| path.join(name).exists());
                open.push((path, is_repository));
            } else if is_folder && GIT_NESTED.contains(&name.as_str()) {
                open.push((path, false));
            } else {
                closed.push(path);
            }
        }
        if closed.len() + open.len() > MAX_GIT_SOURCES {
            return vec![git.to_owned()];
        }
    }
    closed
}

/// Maximum number of paths that an opened repository leaves out. With more, it is not opened.
const MAX_GIT_SOURCES: usize = 1_000;

fn names(path: &Path) -> impl Iterator<Item = &std::ffi::OsStr> {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name),
        _ => None,
    })
}
