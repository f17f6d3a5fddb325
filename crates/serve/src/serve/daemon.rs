//! [`Daemon`]: the loop.

use super::follow::{Next, follow};
use super::queue;
use super::served::ServedProject;
use super::shared::{DaemonHandle, SharedProject};
use super::starts::Processes;
use kb_base::value::{RunId, Timestamp};
use kb_clock::Clock;
use kb_core::run::RunStatus;
use kb_language::definition::Trigger;
use kb_service::project::{NoFolder, ProjectFolder};
use kb_service::service::{Environment, ServiceError};
use kb_service::trigger::{Fire, FireState};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Longest sleep: a clock that was set and a machine that was suspended are noticed after it.
const LONGEST: Duration = Duration::from_secs(30);
/// Interval at which changes of other processes are noticed.
const POLL: Duration = Duration::from_millis(500);
/// Interval at which runs whose process this daemon did not start are inspected.
const LOOK: Duration = Duration::from_secs(2);

/// What the options of `kb serve` select.
#[derive(Debug, Clone, Default)]
pub struct DaemonOptions {
    /// Project folders; empty: the project of the working directory.
    pub projects: Vec<PathBuf>,
    /// Maximum number of runs of all projects together; `None`: the sum of the projects.
    pub max_runs: Option<usize>,
    /// The `kb` that executes the runs; `None`: this program.
    pub program: Option<PathBuf>,
}

/// Serves projects until it is stopped.
pub struct Daemon {
    projects: Vec<ServedProject>,
    processes: Processes,
    max_runs: Option<usize>,
    handle: DaemonHandle,
    clock: Clock,
    looked: Timestamp,
    /// Runs whose process has ended since the last look.
    ended: BTreeSet<RunId>,
    /// Runs that were asked to cancel.
    cancelled: BTreeSet<RunId>,
}

impl Daemon {
    /// Takes the leases of all projects. Fails if another daemon serves one of them.
    pub fn open(
        environment: &Environment,
        options: &DaemonOptions,
    ) -> Result<Daemon, ServiceError> {
        let now = environment.clock.wall();
        let mut folders = Vec::new();
        if options.projects.is_empty() {
            folders.push(environment.cwd.clone());
        }
        folders.extend(options.projects.iter().map(|path| environment.absolute(path)));
        let given = folders.len();
        let mut projects: Vec<ServedProject> = Vec::new();
        let mut next = 0;
        while let Some(start) = folders.get(next).cloned() {
            next += 1;
            let folder = match ProjectFolder::find(&start, &environment.state_base()) {
                Ok(folder) => folder,
                Err(error) if next <= given => return Err(ServiceError::no_project(&start, error)),
                // A project that was moved must not keep the others from being served.
                Err(NoFolder::Missing) => {
                    let path = start.display();
                    tracing::error!(
                        "`serve.projects`: `{path}` is in no project; it is not served"
                    );
                    continue;
                }
                Err(error @ NoFolder::OfOthers { .. }) => {
                    let error = ServiceError::no_project(&start, error);
                    tracing::error!("`serve.projects`: {error}; it is not served");
                    continue;
                }
            };
            if projects.iter().any(|served| served.context.root == folder.root()) {
                continue;
            }
            let served = ServedProject::open(folder, environment, now)?;
            if next <= given {
                folders.extend(served.further_projects(environment));
            }
            projects.push(served);
        }
        Ok(Daemon {
            projects,
            processes: Processes::new(options.program.clone()),
            max_runs: options.max_runs,
            handle: DaemonHandle::default(),
            clock: environment.clock.clone(),
            looked: Timestamp(0),
            ended: BTreeSet::new(),
            cancelled: BTreeSet::new(),
        })
    }

    /// The projects that it serves, in the order in which they were given.
    pub fn projects(&self) -> &[ServedProject] {
        &self.projects
    }

    /// The projects for other tasks of this process.
    pub fn shared(&self) -> Result<Vec<SharedProject>, ServiceError> {
        self.projects.iter().map(|served| served.shared(self.handle())).collect()
    }

    /// Wakes this daemon from another task.
    pub fn handle(&self) -> DaemonHandle {
        self.handle.clone()
    }

    /// Serves until `stop` is cancelled. Runs that were started continue.
    pub async fn run(mut self, stop: CancellationToken) {
        while !stop.is_cancelled() {
            let sleep = self.tick(self.clock.wall());
            let wake = self.handle.wake.clone();
            tokio::select! {
                () = stop.cancelled() => break,
                () = tokio::time::sleep(sleep) => {}
                () = wake.notified() => self.looked = Timestamp(0),
                () = self.processes.any_ended() => {}
            }
        }
    }

    /// One turn of the loop. Returns how long nothing will be due.
    pub fn tick(&mut self, now: Timestamp) -> Duration {
        self.handle.turn();
        self.ended.extend(self.processes.reap());
        let look = !self.ended.is_empty() || now < self.looked || now.since(self.looked) >= LOOK;
        if look {
            self.looked = now;
        }
        self.start_commands();
        let mut sleep = LONGEST.min(POLL);
        for index in 0..self.projects.len() {
            match self.serve(index, look, now) {
                Ok(()) => self.projects[index].set_problem(None),
                Err(error) => self.report(index, &error, now),
            }
            if let Some(due) = self.projects[index].due {
                sleep = sleep.min(due.since(now));
            }
        }
        self.ended.clear();
        self.handle.turn();
        sleep
    }

    /// Starts the processes that other tasks asked for.
    fn start_commands(&mut self) {
        while let Some(command) = self.handle.next_command() {
            let root = &command.root;
            let Some(served) = self.projects.iter().find(|s| s.context.root == *root) else {
                continue;
            };
            let args: Vec<&str> = command.args.iter().map(String::as_str).collect();
            if let Err(error) = self.processes.start(&served.context, &command.run, &args) {
                tracing::error!(run = %command.run, "{error}");
            }
        }
    }

    /// A problem stops neither the daemon nor other projects; it is tried again.
    fn report(&mut self, index: usize, error: &ServiceError, now: Timestamp) {
        let served = &mut self.projects[index];
        let text = error.to_string();
        if served.problem.as_ref() != Some(&text) {
            tracing::error!(project = %served.context.root.display(), "{text}");
            served.set_problem(Some(text));
        }
        // Without a limit, a journal that is locked or full would be tried all the time.
        served.due = Some(now.after(LOOK));
    }

    fn serve(&mut self, index: usize, look: bool, now: Timestamp) -> Result<(), ServiceError> {
        let served = &mut self.projects[index];
        served.require_folder()?;
        let due = served.due.is_some_and(|due| due <= now);
        let version = served.store.version()?;
        let written = version != served.version;
        served.version = version;
        let changed = served.reload(due || written, now) || written;
        let found = served.have_files();
        if !(due || changed || look || found) {
            return Ok(());
        }
        let remove_runs = served.prune(now)?;
        let replaced = served.account(now)?;
        if remove_runs && let Ok(id) = RunId::new("prune") {
            let context = &self.projects[index].context;
            self.processes.start(context, &id, &["run", "prune"])?;
        }
        for fire in replaced {
            self.cancel(index, &fire);
        }
        self.follow_all(index, now)?;
        let daemon = self.handle.clone();
        self.projects[index].take_events(&daemon, now)?;
        self.projects[index].notify(now)?;
        self.projects[index].follow_ends(now);
        self.start_all(index, now)
    }

    /// Asks a run to cancel, once.
    fn cancel(&mut self, index: usize, fire: &Fire) {
        let Some(run) = fire.run.clone().filter(|run| self.cancelled.insert(run.clone())) else {
            return;
        };
        let served = &self.projects[index];
        // The process that drives the run receives the message; without one, this process ends it.
        let own = format!("cancel-{run}");
        let process = RunId::new(&own).unwrap_or_else(|_| run.clone());
        let args = ["run", "cancel", run.as_str()];
        if let Err(error) = self.processes.start(&served.context, &process, &args) {
            tracing::error!(run = %run, "{error}");
        }
    }

    fn follow_all(&mut self, index: usize, now: Timestamp) -> Result<(), ServiceError> {
        let fires = self.projects[index].open_fires()?;
        for fire in fires.iter().filter(|fire| fire.state == FireState::Started) {
            let Some(run) = &fire.run else { continue };
            let served = &self.projects[index];
            let ended_now = self.ended.contains(run);
            let next = follow(served, &self.processes, fire, run, ended_now, now)?;
            match next {
                Next::Wait => {}
                Next::Start | Next::Resume if served.delays.holds(run, now) => {}
                Next::Delay { said, exists } => {
                    self.projects[index].delay(fire, run, &said, exists, now)?;
                }
                Next::Start => self.start(index, fire, now)?,
                Next::Resume => {
                    served.store.started(fire, now)?;
                    let args = ["run", "resume", run.as_str()];
                    self.processes.start(&served.context, run, &args)?;
                }
                Next::Done => {
                    self.cancelled.remove(run);
                    self.projects[index].delays.forget(run);
                    self.pause_after(index, fire, now)?;
                }
            }
        }
        Ok(())
    }

    /// Pauses a trigger after too many failures in a row.
    fn pause_after(&self, index: usize, fire: &Fire, now: Timestamp) -> Result<(), ServiceError> {
        let served = &self.projects[index];
        let most = served.triggers.get(&fire.trigger).and_then(|t| t.trigger.pause_after);
        let Some(most) = most else { return Ok(()) };
        let state = served.store.state(&fire.trigger)?;
        if state.failures >= most && state.paused.is_none() {
            let reason = format!("{} failed runs in a row", state.failures);
            served.store.pause(&fire.trigger, &reason, now)?;
        }
        Ok(())
    }

    fn start_all(&mut self, index: usize, now: Timestamp) -> Result<(), ServiceError> {
        loop {
            let served = &self.projects[index];
            let open = served.open_fires()?;
            let is_running = |fire: &Fire| {
                fire.run.as_ref().is_some_and(|run| {
                    let waits =
                        || served.journal.run(run).is_ok_and(|r| r.status == RunStatus::Waiting);
                    self.processes.has(run) || !waits()
                })
            };
            let own =
                open.iter().filter(|f| f.state == FireState::Started && is_running(f)).count();
            let all = self.running_elsewhere(index) + own;
            if own >= served.max_runs() || self.max_runs.is_some_and(|most| all >= most) {
                return Ok(());
            }
            let trigger = |id: &str| served.triggers.get(id).map(|t| &t.trigger);
            let overlap = |id: &str| queue::policy(trigger(id) as Option<&Trigger>);
            let states = served.store.states()?;
            let held =
                |fire: &Fire| states.get(&fire.trigger).is_some_and(|state| state.paused.is_some());
            let delayed =
                |fire: &Fire| fire.run.as_ref().is_some_and(|run| served.delays.holds(run, now));
            let settings = &served.project.catalog.settings;
            let next = queue::next(&open, is_running, overlap, held, delayed, settings);
            let Some(next) = next else { return Ok(()) };
            let next = next.clone();
            self.start(index, &next, now)?;
        }
    }

    /// Number of running processes that were started for other projects.
    fn running_elsewhere(&self, index: usize) -> usize {
        let others = self.projects.iter().enumerate().filter(|(other, _)| *other != index);
        let open = others.flat_map(|(_, served)| served.open_fires().unwrap_or_default());
        open.filter(|fire| fire.run.as_ref().is_some_and(|run| self.processes.has(run))).count()
    }

    /// Starts the process of a fire. The fire is recorded as started first: a daemon that is killed in
    /// between starts the process again, and the journal creates the run once.
    fn start(&mut self, index: usize, fire: &Fire, now: Timestamp) -> Result<(), ServiceError> {
        let served = &self.projects[index];
        let Some(run) = &fire.run else { return Ok(()) };
        served.store.started(fire, now)?;
        let args = ["playbook", "run", &fire.playbook, "--fire", run.as_str()];
        self.processes.start(&served.context, run, &args)?;
        let (trigger, playbook) = (&fire.trigger, &fire.playbook);
        let lateness = fire.nominal.map(|nominal| now.since(nominal).as_millis() as u64);
        tracing::info!(run = %run, trigger, playbook, lateness_ms = lateness, "run started");
        Ok(())
    }
}
