//! The paths that settings and steps open for commands in the sandbox, without the state of `kb` and without
//! repositories.

use crate::workspace::{OpenedFolder, Workspace, own_path};
use kb_attempt::run_blocking;
use kb_base::diagnostic::Code;
use kb_base::value::Failure;
use kb_process::{Confinement, Reach, Supervisor};
use std::path::{Path, PathBuf};

/// Refuses commands that could write the state of `kb`: nothing keeps it read-only in a cache, nor in the project
/// without namespaces.
pub(super) fn require_state_apart(
    workspace: &Workspace,
    supervisor: &Supervisor,
) -> Result<(), Failure> {
    let root = workspace.root();
    let (base, can_hide) = (supervisor.base(), supervisor.can_hide_paths());
    let is_exposed = |state: &&PathBuf| {
        if can_hide {
            base.is_cached(state)
        } else {
            state.starts_with(root) || base.is_untrusted(state)
        }
    };
    if let Some(state) = workspace.state_of_kb().iter().find(is_exposed) {
        let message = format!(
            "commands could write the state of `kb`: `{}` lies in the project, or in a cache",
            state.display()
        );
        let help = "set XDG_STATE_HOME to a folder outside of the project and of caches, or permit namespaces (`kb doctor`)";
        return Err(Failure::new(Code::PATH_PROTECTED, message).help(help));
    }
    let everyone = supervisor.confined(Confinement::default());
    workspace.state_of_kb().iter().try_for_each(|state| require_unseen(state, &everyone))
}

/// Refuses a path that the processes of a supervisor see although they should not.
pub(super) fn require_unseen(path: &Path, processes: &Supervisor) -> Result<(), Failure> {
    if processes.reach(path) == Reach::Nothing {
        return Ok(());
    }
    let message = format!(
        "`{}` is in a folder that every process in the sandbox reads, such as a folder of `PATH`, so it cannot be kept from one",
        path.display()
    );
    Err(Failure::new(Code::POLICY_DENIED, message).help("move it, or take the folder from `PATH`"))
}

/// Makes the paths that settings and steps open absolute. What `kb` stores is in none of them.
pub(super) struct OpenedPaths<'a> {
    workspace: &'a Workspace,
    root: &'a Path,
    state: &'a [PathBuf],
    home: Option<PathBuf>,
    can_hide: bool,
    hidden: Vec<PathBuf>,
    read_only: Vec<PathBuf>,
}

impl<'a> OpenedPaths<'a> {
    /// For the files of a project.
    pub(super) fn new(workspace: &'a Workspace, supervisor: &Supervisor) -> OpenedPaths<'a> {
        let (root, state) = (workspace.root(), workspace.state_of_kb());
        let home = supervisor.base().get("HOME").map(PathBuf::from);
        // The files of a step in a worktree or copy lie in such a folder, which cannot be hidden then.
        let is_inside = state.iter().any(|state| root.starts_with(state));
        let can_hide = supervisor.can_hide_paths() && !is_inside;
        let (hidden, read_only) = (Vec::new(), Vec::new());
        OpenedPaths { workspace, root, state, home, can_hide, hidden, read_only }
    }

    /// The paths of a list that a command may read.
    pub(super) fn readable(&mut self, list: &[String]) -> Vec<PathBuf> {
        let paths = list.iter().filter_map(|path| self.absolute(path));
        let paths: Vec<PathBuf> = paths.collect();
        paths.into_iter().filter(|path| self.may_open(path)).collect()
    }

    /// The paths of a list that a command may write. Fails for one that cannot be opened without what decides which code
    /// git runs.
    pub(super) fn writable(&mut self, list: &[String]) -> Result<Vec<PathBuf>, Failure> {
        let mut paths = Vec::new();
        for path in list {
            let Some(opened) = self.absolute(path).filter(|opened| self.may_open(opened)) else {
                continue;
            };
            self.leave_out(&opened).map_err(|why| refused(path, &why))?;
            paths.push(opened);
        }
        Ok(paths)
    }

    pub(super) fn absolute(&self, path: &str) -> Option<PathBuf> {
        match path.strip_prefix("~/") {
            Some(rest) => self.home.as_ref().map(|home| home.join(rest)),
            None => own_path(self.root, Path::new(path)),
        }
    }

    fn leave_out(&mut self, path: &Path) -> Result<(), String> {
        let Ok(real) = path.canonicalize() else { return Ok(()) };
        if real.starts_with(self.root) {
            return Ok(());
        }
        let left_out = run_blocking(|| {
            let sources = self.workspace.all_code_sources();
            let git = self.workspace.git_sources();
            let (path, project, sources) = (&*real, self.root, &sources);
            OpenedFolder { path, project, sources, git }.left_out()
        })?;
        match left_out.first() {
            Some(path) if !self.can_hide => {
                Err(format!("this machine cannot leave out `{}`", path.display()))
            }
            _ => {
                self.read_only.extend(left_out);
                Ok(())
            }
        }
    }

    fn may_open(&mut self, path: &Path) -> bool {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if real.starts_with(self.root) {
            return true;
        }
        if self.state.iter().any(|state| real.starts_with(state)) {
            return false;
        }
        let inside = self.state.iter().filter(|state| state.starts_with(&real));
        let inside: Vec<PathBuf> = inside.cloned().collect();
        let may_open = inside.is_empty() || self.can_hide;
        self.hidden.extend(inside);
        may_open
    }

    /// The folders of `kb` in opened paths, for a sandbox that can hide them, and the paths that stay read-only.
    pub(super) fn closed(self) -> (Vec<PathBuf>, Vec<PathBuf>) {
        (self.hidden, self.read_only)
    }
}

fn refused(path: &str, why: &str) -> Failure {
    let message = format!("`sandbox` cannot open `{path}` for writing: {why}");
    let help =
        "name the folder that the command needs; no path opens a repository outside of the project";
    Failure::new(Code::POLICY_DENIED, message).help(help)
}
