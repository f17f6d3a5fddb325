use super::guardian::Guardian;
use super::program::{explain, find_program};
use super::running::Running;
use super::sandbox::{Confinement, start_held};
use super::{BaseEnvironment, End, Exited, Spawn, Stream, orphans};
use crate::clock;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

/// Shows a line of a process's output while it runs; called in order for each stream.
pub type OnLine = Arc<dyn Fn(Stream, &str) + Send + Sync>;

/// How surely nothing of a step outlives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProcessLevel {
    /// A process group a step, orphans taken back, a guardian against the end of `kb`.
    Group,
    /// A PID namespace: the kernel ends everything in it.
    PidNamespace,
}

impl ProcessLevel {
    /// The name as events and `kb doctor` show it.
    pub fn as_str(self) -> &'static str {
        match self {
            ProcessLevel::Group => "group",
            ProcessLevel::PidNamespace => "pidNamespace",
        }
    }

    /// What that means, for people.
    pub fn description(self) -> &'static str {
        match self {
            ProcessLevel::Group => {
                "each step has a process group; what leaves it is found and ended"
            }
            ProcessLevel::PidNamespace => "each step lives in a PID namespace that ends with it",
        }
    }
}

/// Starts processes and ends them; cheap to clone, one for all steps.
#[derive(Debug, Clone)]
pub struct Supervisor {
    base: Arc<BaseEnvironment>,
    limits: Option<Arc<Confinement>>,
}

impl Supervisor {
    /// A supervisor whose processes start from this environment.
    pub fn new(base: BaseEnvironment) -> Supervisor {
        Supervisor { base: Arc::new(base), limits: None }
    }

    /// The same, for processes that the kernel lets write in few places only. Where it cannot,
    /// they do not start: [`super::KernelSandbox::reached`] tells before.
    #[must_use]
    pub fn held(&self, limits: Confinement) -> Supervisor {
        Supervisor { base: self.base.clone(), limits: Some(Arc::new(limits)) }
    }

    /// How surely nothing of a step outlives it, here.
    pub fn level(&self) -> ProcessLevel {
        ProcessLevel::Group
    }

    /// The private directory that processes get as `TMPDIR`; removed when `kb` ends. It is for what
    /// they write and forget, so write policies allow it.
    pub fn temporary_directory(&self) -> Option<&'static Path> {
        Guardian::of_process().temporary_directory()
    }

    /// Runs a process until it and everything it started is gone: by its own end, its limits or
    /// `cancel`. Dropping the future kills it.
    ///
    /// The process ends when its main process does; what it left in the background keeps the pipes
    /// for 250 ms at most and is killed. A process that is stopped gets SIGTERM, and SIGKILL 2 s
    /// later.
    pub async fn run(
        &self,
        spawn: Spawn,
        cancel: &CancellationToken,
        on_line: Option<OnLine>,
    ) -> Exited {
        let began = clock::instant();
        if cancel.is_cancelled() {
            return Exited::silent(End::Cancelled, Duration::ZERO);
        }
        let guardian = Guardian::of_process();
        let token = guardian.next_token();
        match self.start(&spawn, guardian, &token) {
            Err(reason) => Exited::silent(End::NotStarted(reason), began.elapsed()),
            Ok(child) => Running::new(child, spawn, token, on_line).attend(cancel, began).await,
        }
    }

    fn start(&self, spawn: &Spawn, guardian: &Guardian, token: &str) -> Result<Child, String> {
        let name = spawn.argv.first().map(String::as_str).unwrap_or_default();
        let path = spawn.env.iter().rev().find(|(name, _)| name == "PATH");
        let path = path.map(|(_, value)| value.as_str()).or(self.base.get("PATH"));
        let program = find_program(name, &spawn.cwd, path.unwrap_or_default()).map_err(
            |reason| match spawn.cwd.is_dir() {
                true => reason,
                false => format!("there is no directory `{}` to run in", spawn.cwd.display()),
            },
        )?;
        let mut command = Command::new(program);
        command
            .arg0(name)
            .args(&spawn.argv[1..])
            .current_dir(&spawn.cwd)
            .env_clear()
            .envs(guardian.temporary_directory().map(|path| ("TMPDIR", path)))
            .envs(self.base.iter())
            .envs(spawn.env.iter().map(|(name, value)| (name, value)))
            .env(super::guardian::MARKER, guardian.marker(token))
            .process_group(0)
            .kill_on_drop(true)
            .stdin(if spawn.stdin.is_empty() { Stdio::null() } else { Stdio::piped() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut start = || command.spawn();
        let started = orphans::spawn_registered(|| match &self.limits {
            None => start(),
            Some(limits) => {
                start_held(limits.rules(&self.base, guardian.temporary_directory())?, start)
            }
        });
        started.map_err(|error| explain(name, &spawn.cwd, &error))
    }
}
