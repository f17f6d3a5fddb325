//! [`ServedProject`]: a project of a daemon, with its store, journal and definitions.

use super::accounting::{self, REPLACED};
use super::catalog::{TriggerCatalog, trigger_catalog};
use super::delays::Delays;
use super::events::{active_runs, messages, run_ends};
use super::files::WatchedFiles;
use super::lease::ServeLease;
use super::moved::keep_folder;
use super::notify::{Notified, Notifier};
use super::shared::{DaemonHandle, ProjectState, SharedProject};
use super::telemetry::{Followed, Telemetry};
use kb_base::diagnostic::Code;
use kb_base::value::{Failure, RunId, Timestamp};
use kb_core::redaction::Redactor;
use kb_engine::journal::Journal;
use kb_service::project::ProjectFolder;
use kb_service::service::runs::ProjectContext;
use kb_service::service::{Environment, Project, ServiceError, learn_secrets};
use kb_service::trigger::{Fire, FireFilter, FireState, TriggerStore};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Interval between two checks of the definition files.
const RELOAD: Duration = Duration::from_secs(2);

/// The stamp of the task files of the playbooks with triggers.
fn task_stamp(folder: &ProjectFolder, project: &Project) -> u64 {
    let catalog = &project.catalog;
    let playbooks = catalog.playbooks.values().filter(|playbook| !playbook.on.is_empty());
    let paths: BTreeSet<String> = playbooks.flat_map(|p| catalog.task_files_of(p)).collect();
    folder.stamp_of(paths.iter().map(String::as_str))
}

/// A project that a daemon serves.
pub struct ServedProject {
    folder: ProjectFolder,
    environment: Environment,
    /// The folders of the project.
    pub context: ProjectContext,
    /// Masks what is stored.
    redactor: Arc<Redactor>,
    /// The trigger store.
    pub store: Arc<TriggerStore>,
    /// The journal of the project.
    pub journal: Arc<dyn Journal>,
    /// The definitions as they are now.
    pub project: Arc<Project>,
    /// The triggers of its playbooks; replaced when a file changes.
    pub triggers: Arc<TriggerCatalog>,
    /// The last problem of the project that the daemon could not solve.
    pub problem: Option<String>,
    /// The definitions and the problem, for other tasks.
    state: watch::Sender<ProjectState>,
    files: WatchedFiles,
    pub(super) notifier: Notifier,
    pub(super) delays: Delays,
    telemetry: Telemetry,
    stamp: u64,
    /// Of the task files of the playbooks with triggers.
    task_stamp: u64,
    looked: Timestamp,
    pruned: Timestamp,
    pub(super) version: i64,
    pub(super) due: Option<Timestamp>,
    lease: ServeLease,
}

impl ServedProject {
    /// Takes the lease of a project and reads its definitions.
    pub(super) fn open(
        folder: ProjectFolder,
        environment: &Environment,
        now: Timestamp,
    ) -> Result<ServedProject, ServiceError> {
        let context = ProjectContext::of(&folder, environment);
        let lease = ServeLease::take(&context.state_dir, &context.root)?;
        let redactor = Arc::new(Redactor::default());
        let store = TriggerStore::open_with(&context.state_dir, redactor.clone())?;
        let store = Arc::new(store);
        keep_folder(&store, &context)?;
        let stamp = folder.stamp();
        let project = Arc::new(Project::load(folder.clone(), environment));
        let task_stamp = task_stamp(&folder, &project);
        let journal = context.journal(project.catalog.settings.journal.sync)?;
        let triggers = Arc::new(trigger_catalog(&project));
        let (state, _) = watch::channel(ProjectState {
            project: project.clone(),
            triggers: triggers.clone(),
            problem: None,
        });
        Ok(ServedProject {
            folder,
            environment: environment.clone(),
            context,
            redactor,
            store,
            journal,
            project,
            triggers,
            problem: None,
            state,
            files: WatchedFiles::default(),
            notifier: Notifier::default(),
            delays: Delays::default(),
            telemetry: Telemetry::default(),
            stamp,
            task_stamp,
            looked: now,
            pruned: Timestamp(0),
            version: -1,
            due: Some(now),
            lease,
        })
    }

    /// Fails if the project is not where it was: it was moved or removed, or its disk is not mounted. Nothing is
    /// started then, and its times are accounted for when it is back.
    pub(super) fn require_folder(&self) -> Result<(), ServiceError> {
        let root = &self.context.root;
        if self.folder.is_there() {
            return Ok(());
        }
        let message = format!("the project `{}` was moved or removed", root.display());
        let help = "move it back, or start `kb serve` for its new folder and enable its triggers there (`kb doctor --adopt` takes over its runs)";
        let failure = Failure::new(Code::PATH_UNUSABLE, message).help(help);
        Err(ServiceError::environment(failure))
    }

    /// The folders of `serve.projects`.
    pub(super) fn further_projects(&self, environment: &Environment) -> Vec<PathBuf> {
        let folder = |text: &String| match (text.strip_prefix("~/"), &environment.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => self.context.root.join(text),
        };
        self.project.catalog.settings.serve.projects.iter().map(folder).collect()
    }

    /// Reads the definitions again if a file changed. Returns whether it did. Checks every two seconds,
    /// and with `at_once`, as before a time is due.
    pub(super) fn reload(&mut self, at_once: bool, now: Timestamp) -> bool {
        // A clock that was set back must not stop this.
        if !at_once && now >= self.looked && now.since(self.looked) < RELOAD {
            return false;
        }
        self.looked = now;
        let stamp = self.folder.stamp();
        if stamp == self.stamp && task_stamp(&self.folder, &self.project) == self.task_stamp {
            return false;
        }
        self.stamp = stamp;
        self.project = Arc::new(Project::load(self.folder.clone(), &self.environment));
        // Before the files are read: a change in between is noticed the next time.
        self.task_stamp = task_stamp(&self.folder, &self.project);
        self.triggers = Arc::new(trigger_catalog(&self.project));
        self.state.send_modify(|state| {
            (state.project, state.triggers) = (self.project.clone(), self.triggers.clone());
        });
        tracing::info!(project = %self.context.root.display(), "definitions changed");
        true
    }

    /// Records the problem that keeps the daemon from serving the project, or that there is none.
    pub(super) fn set_problem(&mut self, problem: Option<String>) {
        if self.problem != problem {
            self.state.send_modify(|state| state.problem.clone_from(&problem));
            self.lease.tell(problem.as_deref());
            self.problem = problem;
        }
    }

    /// The project for other tasks of this process.
    pub(super) fn shared(&self, daemon: DaemonHandle) -> Result<SharedProject, ServiceError> {
        Ok(SharedProject {
            context: self.context.clone(),
            store: Arc::new(TriggerStore::open_with(
                &self.context.state_dir,
                self.redactor.clone(),
            )?),
            journal: self.journal.clone(),
            redactor: self.redactor.clone(),
            daemon,
            telemetry: self.telemetry.clone(),
            state: self.state.subscribe(),
        })
    }

    /// Once a day: removes what became of old times and events (`journal.retention`). Returns whether runs
    /// are to be removed too, which they are if the settings say so.
    pub(super) fn prune(&mut self, now: Timestamp) -> Result<bool, ServiceError> {
        const DAY: Duration = Duration::from_secs(24 * 3600);
        if now >= self.pruned && now.since(self.pruned) < DAY {
            return Ok(false);
        }
        self.pruned = now;
        let retention = self.project.catalog.settings.journal.retention;
        let age = retention.unwrap_or(DAY * 30).as_millis() as i64;
        self.store.prune(Timestamp(now.0.saturating_sub(age)))?;
        Ok(retention.is_some())
    }

    /// Maximum number of runs that the daemon keeps running for this project.
    pub(super) fn max_runs(&self) -> usize {
        let own = self.project.catalog.settings.serve.max_runs;
        own.map_or(self.environment.processors.max(2) as usize, |most| most as usize)
    }

    /// Records that the run of a fire could not start or continue for a reason that passes, and when it is tried
    /// again. `said` is the error of its process.
    pub(super) fn delay(
        &mut self,
        fire: &Fire,
        run: &RunId,
        said: &str,
        exists: bool,
        now: Timestamp,
    ) -> Result<(), ServiceError> {
        let error = said.split(" · ").find(|line| line.starts_with("error[")).unwrap_or(said);
        let why = error.split_once("]: ").map_or(error, |(_, why)| why);
        let at = self.delays.delay(run, now).rfc3339();
        tracing::warn!(run = %run, trigger = fire.trigger, "run delayed until {at}: {why}");
        let reason = format!("{why}; it is tried again at {at}");
        Ok(self.store.delayed(fire, exists, &reason)?)
    }

    /// The fires whose run has not ended, oldest first.
    pub(super) fn open_fires(&self) -> Result<Vec<Fire>, ServiceError> {
        let filter = FireFilter { trigger: None, open: true, limit: usize::MAX };
        let mut fires = self.store.fires(&filter)?;
        fires.reverse();
        Ok(fires)
    }

    /// Accounts for the nominal times that have passed. Returns the started fires that must make room.
    pub(super) fn account(&mut self, now: Timestamp) -> Result<Vec<Fire>, ServiceError> {
        let open = self.open_fires()?;
        let active = active_runs(open.iter());
        let states = self.store.states()?;
        let passed = accounting::passed(&self.triggers, &states, &active, now);
        self.due = passed.due;
        if passed.recorded.is_empty() {
            return Ok(Vec::new());
        }
        let replaced = open.into_iter().filter(|fire| passed.replaced.contains(&fire.trigger));
        let (queued, started): (Vec<Fire>, Vec<Fire>) =
            replaced.partition(|fire| fire.state == FireState::Queued);
        for fire in &queued {
            self.store.ended(fire, FireState::Skipped, Some(REPLACED), now)?;
        }
        self.learn_secrets();
        self.store.record(&passed.recorded, now)?;
        Ok(started)
    }

    /// Counts the runs that have ended, and sends their traces.
    pub(super) fn follow_ends(&self, now: Timestamp) {
        let (project, store) = (self.project.clone(), self.store.clone());
        let journal = self.journal.clone();
        self.telemetry.follow(Followed { project, store, journal }, now);
    }

    /// Stores notifications for the hooks of `notify`, and sends them.
    pub(super) fn notify(&mut self, now: Timestamp) -> Result<(), ServiceError> {
        let (project, store, journal) = (&self.project, &self.store, &self.journal);
        let notified = Notified { project, store, journal, triggers: &self.triggers };
        self.notifier.find(&notified, now)?;
        self.notifier.send(&notified, now)
    }

    /// The secrets as they are now: a file may have a new one.
    fn learn_secrets(&self) {
        learn_secrets(&self.project, &self.redactor);
    }

    /// Whether files of triggers were found that are not recorded yet.
    pub(super) fn have_files(&mut self) -> bool {
        let found = self.files.have_found();
        self.telemetry.set_files_waiting(self.files.waiting);
        found
    }

    /// Records the fires of events: ends of runs, messages, files.
    pub(super) fn take_events(
        &mut self,
        daemon: &DaemonHandle,
        now: Timestamp,
    ) -> Result<(), ServiceError> {
        let mut active = active_runs(self.open_fires()?.iter());
        let mut recorded =
            run_ends(&self.context, &*self.journal, &self.store, &self.triggers, &mut active)?;
        recorded.extend(self.files.fires(&self.store, &self.triggers, &mut active)?);
        if !recorded.is_empty() {
            self.learn_secrets();
            self.store.record(&recorded, now)?;
        }
        self.files.recorded();
        self.files.compare(&self.context.root, &self.store, &self.triggers, daemon, now)?;
        let (taken, fires) = messages(&self.store, &self.triggers, &mut active)?;
        if !taken.is_empty() {
            self.learn_secrets();
            self.store.take_messages(&taken, &fires, now)?;
        }
        Ok(())
    }
}
