use super::group::GroupProcess;
use super::instance::Instance;
use super::main_process::{MainProcess, NamespaceProcess};
use super::namespace::{StartOrder, WorkerPool};
use super::pipes::{ChildEnds, Pipes};
use super::program::{explain, find_program};
use super::running::Running;
use super::sandbox::{Confinement, Rules};
use super::{BaseEnvironment, ProcessEnd, ProcessLevel, ProcessResult, Spawn, Stream};
use crate::clock;
use rustix::fd::AsFd;
use rustix::thread::CapabilitySet;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Shows a line of a process's output while it runs; called in order for each stream.
pub type OnLine = Arc<dyn Fn(Stream, &str) + Send + Sync>;

/// Starts processes and ends them; cheap to clone, one for all steps.
#[derive(Debug, Clone)]
pub struct Supervisor {
    base: Arc<BaseEnvironment>,
    limits: Option<Arc<Confinement>>,
    pool: Arc<WorkerPool>,
}

impl Supervisor {
    /// A supervisor whose processes start from this environment. They live in PID namespaces where
    /// the system allows that and this program calls [`super::run_init_process`].
    pub fn new(base: BaseEnvironment) -> Supervisor {
        Supervisor {
            base: Arc::new(base),
            limits: None,
            pool: Arc::new(WorkerPool::of_this_program()),
        }
    }

    /// The same, with another program that calls [`super::run_init_process`] as the keeper of namespaces.
    #[must_use]
    pub fn with_init_program(self, executable: impl Into<PathBuf>) -> Supervisor {
        Supervisor { pool: Arc::new(WorkerPool::of(Some(executable.into()))), ..self }
    }

    /// The same, without namespaces, also where they are allowed.
    #[must_use]
    pub fn without_namespaces(self) -> Supervisor {
        Supervisor { pool: Arc::new(WorkerPool::none()), ..self }
    }

    /// The environment that all of them start from.
    pub fn base(&self) -> &BaseEnvironment {
        &self.base
    }

    /// The same, for processes that the kernel lets write in few places only. Where it cannot,
    /// they do not start: [`super::KernelSandbox::detect`] tells before.
    #[must_use]
    pub fn confined(&self, limits: Confinement) -> Supervisor {
        Supervisor { limits: Some(Arc::new(limits)), ..self.clone() }
    }

    /// How surely nothing of a step outlives it, here. The first call tries it out, which takes
    /// milliseconds.
    pub fn level(&self) -> ProcessLevel {
        match self.pool.available() {
            Ok(()) => ProcessLevel::PidNamespace,
            Err(_) => ProcessLevel::Group,
        }
    }

    /// Why the level is not the highest.
    pub fn shortfall(&self) -> Option<&str> {
        self.pool.available().err()
    }

    /// Whether processes live in a user namespace as well, which the PID namespace needs unless `kb`
    /// runs with the rights of an administrator. Programs that gain rights (`sudo`) gain none there.
    pub fn is_in_user_namespace(&self) -> bool {
        let own = rustix::thread::capabilities(None);
        let is_administrator =
            own.is_ok_and(|own| own.effective.contains(CapabilitySet::SYS_ADMIN));
        self.level() == ProcessLevel::PidNamespace && !is_administrator
    }

    /// The private directory that processes get as `TMPDIR`; removed when `kb` ends. It is for what
    /// they write and forget, so write policies allow it.
    pub fn temporary_directory(&self) -> Option<&'static Path> {
        Instance::of_process().temporary_directory()
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
    ) -> ProcessResult {
        let began = clock::instant();
        if cancel.is_cancelled() {
            return ProcessResult::silent(ProcessEnd::Cancelled, Duration::ZERO);
        }
        match self.start(spawn, on_line) {
            Err(reason) => ProcessResult::silent(ProcessEnd::NotStarted(reason), began.elapsed()),
            Ok(running) => running.attend(cancel, began).await,
        }
    }

    fn start(&self, spawn: Spawn, on_line: Option<OnLine>) -> Result<Running, String> {
        let program = self.program(&spawn)?;
        let name = spawn.argv[0].clone();
        let pipes = Pipes::new(!spawn.stdin.is_empty())
            .map_err(|error| format!("no pipes for `{name}`: {error}"))?;
        let env = self.environment(&spawn);
        let leader = self
            .lead(&spawn, &program, &env, pipes.theirs)
            .map_err(|error| explain(&name, &spawn.cwd, &error))?;
        Ok(Running::new(leader, [pipes.stdout, pipes.stderr], pipes.stdin, spawn, on_line))
    }

    fn program(&self, spawn: &Spawn) -> Result<PathBuf, String> {
        let name = spawn.argv.first().map(String::as_str).unwrap_or_default();
        let path = spawn.env.iter().rev().find(|(name, _)| name == "PATH");
        let path = path.map(|(_, value)| value.as_str()).or(self.base.get("PATH"));
        find_program(name, &spawn.cwd, path.unwrap_or_default()).map_err(|reason| {
            match spawn.cwd.is_dir() {
                true => reason,
                false => format!("there is no directory `{}` to run in", spawn.cwd.display()),
            }
        })
    }

    /// The variables of a process; of two with one name the later one counts.
    fn environment<'a>(&'a self, spawn: &'a Spawn) -> Vec<(&'a str, &'a str)> {
        let instance = Instance::of_process();
        let temporary = instance.temporary_directory().and_then(Path::to_str);
        let own = spawn.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let all = temporary.map(|path| ("TMPDIR", path)).into_iter().chain(self.base.iter());
        let all: BTreeMap<&str, &str> = all.chain(own).chain(instance.inherited_mark()).collect();
        all.into_iter().collect()
    }

    fn lead(
        &self,
        spawn: &Spawn,
        program: &Path,
        env: &[(&str, &str)],
        theirs: ChildEnds,
    ) -> io::Result<MainProcess> {
        let limits = self.limits.as_deref();
        let rules = limits.map(|limits| limits.rules(&self.base, self.temporary_directory()));
        let rules = rules.transpose()?;
        if self.pool.available().is_err() {
            return GroupProcess::start(spawn, program, env, theirs, rules).map(MainProcess::Group);
        }
        let rules = rules.map(Rules::into_fd).transpose()?;
        let read_only = limits.map(Confinement::read_only).unwrap_or_default();
        let order = StartOrder {
            program,
            cwd: &spawn.cwd,
            argv: &spawn.argv,
            env,
            read_only,
            stdin: theirs.stdin.as_ref().map(AsFd::as_fd),
            stdout: theirs.stdout.as_fd(),
            stderr: theirs.stderr.as_fd(),
            rules: rules.as_ref().map(AsFd::as_fd),
        };
        let worker = self.pool.start(&order)?;
        let (pool, name) = (self.pool.clone(), &spawn.argv[0]);
        Ok(MainProcess::Namespace(NamespaceProcess::new(worker, pool, name, spawn.cwd.clone())))
    }
}
