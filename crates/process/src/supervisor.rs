//! The entry point of this module: starts a process and waits for its end.

use super::capture::OutputListener;
use super::failed_command::FailureReport;
use super::group::GroupProcess;
use super::instance::Instance;
use super::main_process::{MainProcess, NamespaceProcess};
use super::namespace::WorkerPool;
use super::pipes::{ChildEnds, Pipes, ReadEnd};
use super::program::{Program, find_program};
use super::running::Running;
use super::sandbox::{
    Confinement, Isolation, KernelSandbox, Reach, Rules, RulesCache, Scratch, SystemCallFilter,
    is_administrator,
};
use super::session::Session;
use super::session_output::SessionOutput;
use super::start_order::StartOrder;
use super::temporary::remove_abandoned;
use super::{BaseEnvironment, ProcessEnd, ProcessLevel, ProcessResult, Spawn};
use kb_clock as clock;
use rustix::fd::{AsFd, OwnedFd};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Python writes no compiled files beside sources in the sandbox: a run of tests would otherwise change files that
/// decide what the next one executes.
const NO_PYTHON_CACHES: (&str, &str) = ("PYTHONDONTWRITEBYTECODE", "1");

/// Starts and stops processes. Cheap to clone; one serves all steps of a run.
#[derive(Debug, Clone)]
pub struct Supervisor {
    base: Arc<BaseEnvironment>,
    confinement: Option<Arc<Confinement>>,
    own_home: bool,
    home: Option<PathBuf>,
    at_home: bool,
    pool: Arc<WorkerPool>,
    rules: Arc<RulesCache>,
}

impl Supervisor {
    /// A supervisor for processes with this environment. They run in PID namespaces if the system
    /// allows it and this program calls [`super::run_init_process`].
    pub fn new(base: BaseEnvironment) -> Supervisor {
        let base = Arc::new(base);
        let pool = Arc::new(WorkerPool::of_this_program(base.clone()));
        Supervisor {
            base,
            confinement: None,
            own_home: false,
            home: None,
            at_home: false,
            pool,
            rules: Arc::default(),
        }
    }

    /// Uses another program, which calls [`super::run_init_process`], as the init process.
    #[must_use]
    pub fn with_init_program(self, executable: impl Into<PathBuf>) -> Supervisor {
        let pool = WorkerPool::of(Some(executable.into()), self.base.clone());
        Supervisor { pool: Arc::new(pool), ..self }
    }

    /// Runs processes at the level `group`, even if namespaces are available.
    #[must_use]
    pub fn without_namespaces(self) -> Supervisor {
        Supervisor { pool: Arc::new(WorkerPool::none(self.base.clone())), ..self }
    }

    /// The base environment of the processes.
    pub fn base(&self) -> &BaseEnvironment {
        &self.base
    }

    /// Starts programs for `kb` itself: none of the variables that the setting `env.pass` adds reaches them.
    #[must_use]
    pub fn of_kb(&self) -> Supervisor {
        Supervisor { base: Arc::new(self.base.without_passed()), ..self.clone() }
    }

    /// A supervisor whose processes run in the kernel sandbox. They do not start if the kernel cannot
    /// enforce it; [`super::KernelSandbox::detect`] tells in advance.
    #[must_use]
    pub fn confined(&self, confinement: Confinement) -> Supervisor {
        Supervisor { confinement: Some(Arc::new(confinement)), ..self.clone() }
    }

    /// The same supervisor, whose confined processes have their temporary directory as home directory.
    #[must_use]
    pub fn with_own_home(self) -> Supervisor {
        Supervisor { own_home: true, ..self }
    }

    /// The same supervisor, whose confined processes have this folder as home directory, and write to it.
    #[must_use]
    pub fn with_home(self, folder: PathBuf) -> Supervisor {
        let with = |own: Arc<Confinement>| Arc::new((*own).clone().with_write([folder.clone()]));
        let confinement = self.confinement.map(with);
        Supervisor { confinement, own_home: true, home: Some(folder), ..self }
    }

    /// The same supervisor, whose processes start in the home directory of their own, if they have one.
    #[must_use]
    pub fn started_at_home(self) -> Supervisor {
        Supervisor { at_home: true, ..self }
    }

    /// The same supervisor, whose confined processes also read these paths.
    #[must_use]
    pub fn also_reading(self, paths: impl IntoIterator<Item = PathBuf>) -> Supervisor {
        let with = |own: Arc<Confinement>| Arc::new((*own).clone().with_read(paths));
        Supervisor { confinement: self.confinement.map(with), ..self }
    }

    /// The temporary directory of its processes. Those of another sandbox do not see it.
    pub fn private_directory(&self) -> Option<PathBuf> {
        let instance = Instance::of_process(&self.base);
        match &self.confinement {
            None => instance.steps_directory(),
            Some(own) => instance.scratch(own.scratch()).map(|scratch| scratch.temporary),
        }
    }

    /// What the processes of this supervisor may do with a path. Reads directories.
    pub fn reach(&self, path: &Path) -> Reach {
        let private = Instance::of_process(&self.base).temporary_directory();
        let Some(own) = self.confinement.as_deref() else { return Reach::Write };
        own.reach(path, (&self.base, &self.rules.always(&self.base)), private)
    }

    /// The path that the sandbox was to open, that does not exist, and that contains this one.
    pub fn opened_in_vain(&self, path: &Path) -> Option<PathBuf> {
        let [write, _, read, _] = self.confinement.as_deref()?.paths();
        write.into_iter().chain(read).find(|opened| path.starts_with(opened) && !opened.exists())
    }

    /// The process control level on this machine. The first call takes milliseconds: it creates a namespace.
    pub fn level(&self) -> ProcessLevel {
        match self.pool.available() {
            Ok(_) => ProcessLevel::PidNamespace,
            Err(_) => ProcessLevel::Group,
        }
    }

    /// Begins to start the process that all supervisors of this program need, in the background: it takes milliseconds.
    pub fn begin_to_start(&self) {
        let pool = self.pool.clone();
        let thread = std::thread::Builder::new().name("kb-start".into());
        let _ = thread.spawn(move || pool.start_init_process());
    }

    /// Begins to find out the level in the background, so that the caller can do other work meanwhile,
    /// and then removes the temporary directories of other `kb` processes that have ended. Without a
    /// thread for it, the first call of [`Supervisor::level`] finds out the level.
    pub fn begin_to_detect(&self) {
        let (pool, base) = (self.pool.clone(), self.base.clone());
        let thread = std::thread::Builder::new().name("kb-detect".into());
        let _ = thread.spawn(move || {
            let _ = pool.available();
            remove_abandoned(&base.temporary_root());
        });
    }

    /// Why the level is not [`ProcessLevel::PidNamespace`], or `None` if it is.
    pub fn shortfall(&self) -> Option<&str> {
        self.pool.available().err()
    }

    /// Whether processes run in a user namespace too. A PID namespace needs one unless `kb` has
    /// `CAP_SYS_ADMIN`. Setuid programs such as `sudo` gain no privileges there.
    pub fn is_in_user_namespace(&self) -> bool {
        self.level() == ProcessLevel::PidNamespace && !is_administrator()
    }

    /// The restrictions of sandboxed processes that need namespaces and are missing on this machine,
    /// as human-readable text. Empty if none is.
    pub fn missing_isolation(&self) -> Vec<&'static str> {
        let available = self.pool.available().unwrap_or_default();
        let mut missing = Vec::new();
        if !available.has(Isolation::MOUNTS) {
            missing.extend([
                "modes, owners and times of other files of this user can be changed",
                "protected paths are compared after each command, not read-only",
                "`denied_paths` inside readable directories can be read",
                "Unix sockets, `/dev/shm` and names of other files are visible",
            ]);
        }
        if !available.has(Isolation::OVERLAYS) && !KernelSandbox::restricts_sockets() {
            missing.push("servers with a Unix socket in a folder of the system answer");
        }
        if !available.has(Isolation::NETWORK) {
            missing.push("commands use the network of this machine, unless `network: none` is set");
        }
        missing
    }

    /// Whether [`Confinement::with_hidden`] has an effect on this machine.
    pub fn can_hide_paths(&self) -> bool {
        self.pool.available().unwrap_or_default().has(Isolation::MOUNTS)
    }

    /// The private directory that contains the `TMPDIR` of all processes. It is removed when `kb` ends.
    pub fn temporary_directory(&self) -> Option<&'static Path> {
        Instance::of_process(&self.base).temporary_directory()
    }

    /// Runs a process until it and all its descendants have ended. A timeout, the idle timeout or
    /// `cancel` stop it. Dropping the future kills it.
    ///
    /// The step ends with its main process: output of background processes is read for at most
    /// 250 ms, then they are killed. To stop a process, `run` sends SIGTERM, and SIGKILL after 2 s.
    pub async fn run(
        &self,
        spawn: Spawn,
        cancel: &CancellationToken,
        listener: Option<OutputListener>,
    ) -> ProcessResult {
        let started = clock::instant();
        if cancel.is_cancelled() {
            return ProcessResult::silent(ProcessEnd::Cancelled, Duration::ZERO);
        }
        // It reads directories, writes the rules of the sandbox and waits for the new process. If this future
        // is dropped meanwhile, the process is killed when it has started.
        let own = self.clone();
        let is_free = self.confinement.is_none();
        self.pool.count_change(is_free);
        let started_process = tokio::task::spawn_blocking(move || own.start(spawn, listener)).await;
        match started_process.unwrap_or_else(|error| Err(error.to_string())) {
            Err(reason) => ProcessResult::silent(ProcessEnd::NotStarted(reason), started.elapsed()),
            Ok(running) => {
                let result = running.supervise(cancel, started).await;
                self.pool.count_change(is_free);
                result
            }
        }
    }

    /// Starts a process and keeps its stdin open: bytes or lines go both ways until the session is dropped, `cancel` is
    /// cancelled or a limit of the order is reached. `spawn.stdin` is what it reads first. The error is the reason why
    /// it did not start.
    pub async fn session(
        &self,
        spawn: Spawn,
        cancel: &CancellationToken,
    ) -> Result<Session, String> {
        let (own, (input, more)) = (self.clone(), Session::channel());
        let output = Arc::new(SessionOutput::default());
        let read = output.clone();
        let started = tokio::task::spawn_blocking(move || {
            let started = own.start_process(&spawn, true, None)?;
            let ends = [started.stdout, started.stderr];
            Ok(Running::of_session(started.process, ends, started.stdin, spawn, (more, read)))
        });
        let running = started.await.unwrap_or_else(|error| Err(error.to_string()))?;
        Ok(Session::of(running, input, output, cancel))
    }

    fn start(&self, mut spawn: Spawn, listener: Option<OutputListener>) -> Result<Running, String> {
        let report = match (self.pool.available(), &self.confinement) {
            (Ok(_), _) => FailureReport::prepare(&mut spawn, true),
            (Err(_), None) => FailureReport::prepare(&mut spawn, false),
            // The sandbox hides the files of this process.
            (Err(_), Some(_)) => None,
        };
        let with_input = !spawn.stdin.is_empty();
        let started = self.start_process(&spawn, with_input, report.as_ref())?;
        let ends = [started.stdout, started.stderr];
        Ok(Running::new(started.process, ends, started.stdin, spawn, (listener, report)))
    }

    fn start_process(
        &self,
        spawn: &Spawn,
        with_input: bool,
        report: Option<&FailureReport>,
    ) -> Result<Started, String> {
        let program = self.program(spawn)?;
        let name = &program.name;
        let Pipes { stdin, stdout, stderr, child } = Pipes::new(with_input)
            .map_err(|error| format!("failed to create pipes for `{name}`: {error}"))?;
        let instance = Instance::of_process(&self.base);
        if let Some(own) = instance.temporary_directory().filter(|own| self.base.is_opened(own)) {
            return Err(format!(
                "the folder for temporary files `{}` lies in the project, or in a folder that `sandbox` opens for writing: set `TMPDIR` to another one",
                own.display()
            ));
        }
        let scratch = self.confinement.as_ref().and_then(|own| instance.scratch(own.scratch()));
        let temporary = self.private_directory();
        let env = self.environment(spawn, temporary.as_deref());
        let cwd = self.own_home_in(temporary.as_deref()).filter(|_| self.at_home);
        let cwd = cwd.unwrap_or(&spawn.cwd);
        let process = self
            .start_main(spawn, (&program, cwd), &env, scratch.as_ref(), (child, report))
            .map_err(|error| program.explain(&error))?;
        Ok(Started { process, stdin, stdout, stderr })
    }

    fn program(&self, spawn: &Spawn) -> Result<Program, String> {
        let name = spawn.argv.first().map(String::as_str).unwrap_or_default();
        let path = spawn.env.iter().rev().find(|(name, _)| name == "PATH");
        let path = path.map(|(_, value)| value.as_str()).or(self.base.get("PATH"));
        let refused = |program: &Path| spawn.own_program && self.base.is_untrusted(program);
        let found = find_program(name, &spawn.cwd, path.unwrap_or_default(), refused);
        let path = found.map_err(|reason| {
            if spawn.cwd.is_dir() {
                reason
            } else {
                format!("the working directory `{}` does not exist", spawn.cwd.display())
            }
        })?;
        let is_confined = self.confinement.is_some();
        Ok(Program { name: name.to_owned(), path, cwd: spawn.cwd.clone(), is_confined })
    }

    /// The variables of a process. Of two with the same name the later one wins.
    fn environment<'a>(
        &'a self,
        spawn: &'a Spawn,
        temporary: Option<&'a Path>,
    ) -> Vec<(&'a str, &'a str)> {
        let instance = Instance::of_process(&self.base);
        let home = self.own_home_in(temporary).and_then(Path::to_str);
        let temporary = temporary.and_then(Path::to_str);
        let own = spawn.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let without_caches = self.confinement.as_ref().map(|_| NO_PYTHON_CACHES);
        let defaults = temporary.map(|path| ("TMPDIR", path)).into_iter().chain(without_caches);
        let all = defaults.chain(self.base.iter()).chain(home.map(|home| ("HOME", home)));
        let all: BTreeMap<&str, &str> = all.chain(own).chain(instance.outer_variable()).collect();
        all.into_iter().collect()
    }

    /// The home directory of their own, if they have one and are confined.
    fn own_home_in<'a>(&'a self, temporary: Option<&'a Path>) -> Option<&'a Path> {
        let has_own = self.own_home && self.confinement.is_some();
        self.home.as_deref().or(temporary).filter(|_| has_own)
    }

    fn start_main(
        &self,
        spawn: &Spawn,
        (program, cwd): (&Program, &Path),
        env: &[(&str, &str)],
        scratch: Option<&Scratch>,
        (ends, report): (ChildEnds, Option<&FailureReport>),
    ) -> io::Result<MainProcess> {
        let confinement = self.confinement.as_deref();
        let available = self.pool.available();
        let overlays = [Isolation::MOUNTS, Isolation::OVERLAYS];
        let has_overlays = available
            .is_ok_and(|found| overlays.into_iter().all(|one| found.has(one)))
            && !KernelSandbox::restricts_sockets();
        let rules = confinement.map(|own| self.rules.rules(own, &self.base, scratch, has_overlays));
        let (rules, mounts) = rules.transpose()?.unzip();
        let isolation = match (confinement, available) {
            (Some(confinement), available) => confinement.isolation(available.unwrap_or_default()),
            (None, _) => Isolation::default(),
        };
        if available.is_err() {
            let instance = Instance::of_process(&self.base);
            let sandbox = rules.map(|rules| (rules, SystemCallFilter::new(isolation)));
            return GroupProcess::start(instance, spawn, &program.path, env, ends, sandbox)
                .map(MainProcess::Group);
        }
        let rules = rules.map(Rules::into_fd).transpose()?;
        let mounts = mounts.filter(|_| isolation.has(Isolation::MOUNTS));
        let mounts = mounts.as_deref().unwrap_or_default();
        let mark = (has_overlays && !mounts.is_empty()).then(|| self.pool.mark());
        let order = StartOrder {
            program: &program.path,
            cwd,
            argv: &spawn.argv,
            env,
            isolation,
            mounts: (mounts, mark.as_deref()),
            stdin: ends.stdin.as_ref().map(AsFd::as_fd),
            stdout: ends.stdout.as_fd(),
            stderr: ends.stderr.as_fd(),
            rules: rules.as_ref().map(AsFd::as_fd),
            report: report.map(FailureReport::descriptor),
        };
        let worker = self.pool.start(&order)?;
        let process = NamespaceProcess::new(worker, self.pool.clone(), program.clone());
        Ok(MainProcess::Namespace(process))
    }
}

/// A process that has just started, with the ends of its pipes.
struct Started {
    process: MainProcess,
    stdin: Option<OwnedFd>,
    stdout: ReadEnd,
    stderr: ReadEnd,
}
