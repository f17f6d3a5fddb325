//! Where the runs of a project execute.

use super::doubles::Doubles;
use super::recorder::Recorder;
use crate::project::{NoFolder, ProjectFolder};
use crate::service::{Environment, ServiceError};
use kb_clock::{Clock, RunClock};
use kb_engine::journal::{Journal, JournalError};
use kb_host::git::GitSettings;
use kb_host::isolation::home_of;
use kb_host::tool::{ProcessLauncher, sandbox_level};
use kb_host::workspace::{IgnoreFiles, StatesBefore, Workspace};
use kb_language::definition::{ProcessChoice, Settings, SyncMode};
use kb_process::{BaseEnvironment, Supervisor};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// File in the state of a project: others than the author could write to its files in one of its runs.
const WRITTEN: &str = "written-by-others";

/// The folders and the environment that the runs of a project use.
#[derive(Debug, Clone)]
pub struct ProjectContext {
    /// The project root, which is the workspace of every step.
    pub root: PathBuf,
    /// The folder of the journal, outside the workspace.
    pub state_dir: PathBuf,
    /// Working directory and variables of the caller.
    pub environment: Environment,
    /// What a test puts in the place of the world.
    pub doubles: Doubles,
    /// What `--record` keeps of the run.
    pub recorder: Option<Arc<Recorder>>,
    /// Paths outside of the root that commands in the sandbox may write, relative to it or below `~/`, and those of
    /// projects beside this one ([`ProjectContext::beside`]). No program in them is one that `kb` chooses.
    pub opened: Vec<String>,
}

impl ProjectContext {
    /// The context of the project that contains the working directory, or of that folder alone if a
    /// file was run in it. No definition is read, because a resumed run has stored its own.
    pub fn find(environment: &Environment) -> Result<ProjectContext, ServiceError> {
        let missing = match ProjectFolder::find(&environment.cwd, &environment.state_base()) {
            Ok(folder) => return Ok(ProjectContext::of(&folder, environment)),
            Err(error) => error,
        };
        let alone = ProjectContext::of(&ProjectFolder::at(&environment.cwd), environment);
        if missing == NoFolder::Missing && alone.state_dir.is_dir() {
            Ok(alone)
        } else {
            Err(ServiceError::no_project(&environment.cwd, missing))
        }
    }

    /// Whether the root contains `.kb/`. A file that is in no project runs without it.
    pub fn has_definitions(&self) -> bool {
        self.root.join(".kb").is_dir()
    }

    /// Whether commands in the working directory find this project.
    pub fn is_here(&self) -> bool {
        ProjectContext::find(&self.environment).is_ok_and(|found| found.root == self.root)
    }

    /// The context of the project in a folder.
    pub fn of(folder: &ProjectFolder, environment: &Environment) -> ProjectContext {
        ProjectContext {
            root: folder.root().to_owned(),
            state_dir: folder.state_dir_in(&environment.state_base()),
            environment: environment.clone(),
            doubles: Doubles::default(),
            recorder: None,
            opened: Vec::new(),
        }
    }

    /// The same, where commands in the sandbox may write these paths too.
    #[must_use]
    pub fn opening(&self, paths: &[String]) -> ProjectContext {
        let new = paths.iter().filter(|path| !self.opened.contains(path));
        let opened = self.opened.iter().chain(new).cloned().collect();
        ProjectContext { opened, ..self.clone() }
    }

    /// The same, where the folder of another project and what it opens are not trusted either: the project of a test, or one
    /// that is served too.
    #[must_use]
    pub fn beside(&self, other: &ProjectContext) -> ProjectContext {
        let full = |path: &String| {
            let home = path.starts_with("~/").then(|| path.clone());
            home.unwrap_or_else(|| other.root.join(path).to_string_lossy().into_owned())
        };
        let root = other.root.to_string_lossy().into_owned();
        let all: Vec<String> = [root].into_iter().chain(other.opened.iter().map(full)).collect();
        self.opening(&all)
    }

    /// The clock of the environment.
    pub fn clock(&self) -> &Clock {
        &self.environment.clock
    }

    /// The time of a run: virtual in tests of playbooks.
    pub fn run_clock(&self) -> RunClock {
        let of_test = self.doubles.clock.clone();
        of_test.unwrap_or_else(|| RunClock::new(self.clock().clone()))
    }

    /// Opens the journal of the project.
    pub fn journal(&self, sync: SyncMode) -> Result<Arc<dyn Journal>, JournalError> {
        kb_engine::journal::open(&self.state_dir, sync)
    }

    /// The files of the project, without those that only `kb` may write. With `ignore_files`, evidence and gates use
    /// these ignore files.
    pub(in crate::service) fn workspace(
        &self,
        ignore_files: Option<&IgnoreFiles>,
    ) -> io::Result<Workspace> {
        self.workspace_with(&[], ignore_files)
    }

    /// The same files, in which models change none of the files from which settings and definitions read values.
    pub(in crate::service) fn workspace_with(
        &self,
        value_files: &[&str],
        ignore_files: Option<&IgnoreFiles>,
    ) -> io::Result<Workspace> {
        let named = value_files.iter().map(PathBuf::from).collect();
        // A step in a worktree or copy may itself be a project.
        let all = Some(self.environment.state_base().join("kb"));
        let all = all.filter(|all| !self.root.starts_with(all));
        let own = [self.state_dir.clone(), home_of(&self.state_dir)];
        let protected: Vec<PathBuf> = own.into_iter().chain(all).collect();
        let (git, protected) = (self.git_settings(), (&*protected, named));
        let project = Workspace::of_run(&self.root, protected, git, ignore_files)?;
        Ok(project.with_states(StatesBefore::of(&self.state_dir, &self.root)))
    }

    /// Keeps for all later runs that others than the author can write to the files of the project.
    pub(in crate::service) fn note_writers(&self) -> io::Result<()> {
        if self.had_writers() { Ok(()) } else { std::fs::write(self.state_dir.join(WRITTEN), "") }
    }

    /// Whether others than the author could write to the files of the project in one of its runs.
    pub(in crate::service) fn had_writers(&self) -> bool {
        self.state_dir.join(WRITTEN).exists()
    }

    /// Lists the settings of git, as the git of the user reads them.
    pub(in crate::service) fn git_settings(&self) -> Arc<GitSettings> {
        let base = BaseEnvironment::select(self.environment.variables.clone(), &[]);
        Arc::new(GitSettings::new(base.in_project(&self.root, &self.opened)))
    }

    /// Starts commands of the author and of the settings, with the sandbox that this machine has.
    pub(in crate::service) fn processes(
        &self,
        settings: &Arc<Settings>,
    ) -> io::Result<ProcessLauncher> {
        let supervisor = self.supervisor(settings);
        let level = sandbox_level(supervisor.base().sandbox_cap());
        let workspace = self.workspace_with(&settings.value_files(), None)?;
        Ok(ProcessLauncher::new(supervisor, workspace, settings.clone(), level))
    }

    /// The supervisor for the processes of runs, with the process control level of the settings.
    pub fn supervisor(&self, settings: &Settings) -> Supervisor {
        let variables = self.environment.variables.clone();
        let base = BaseEnvironment::select(variables, &settings.env.pass);
        let base = base.in_project(&self.root, &self.opened);
        match settings.sandbox.processes {
            ProcessChoice::Group => Supervisor::new(base).without_namespaces(),
            ProcessChoice::Auto | ProcessChoice::PidNamespace => Supervisor::new(base),
        }
    }
}
