//! The pool of namespace workers of one supervisor.

use super::Worker;
use super::init_process::own_executable;
use crate::BaseEnvironment;
use crate::instance::Instance;
use crate::sandbox::{Isolation, kind};
use crate::start_order::StartOrder;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// How long a step that has lost its worker waits for a new one. As a rule it takes milliseconds.
const REPLACE_TIMEOUT: Duration = Duration::from_secs(1);

/// The namespace workers of a supervisor. Workers are created on demand and reused.
#[derive(Debug)]
pub(crate) struct WorkerPool {
    executable: Option<PathBuf>,
    base: Arc<BaseEnvironment>,
    /// In which ways workers can isolate processes, or the reason why there are no workers.
    available: OnceLock<Result<Isolation, String>>,
    idle: Mutex<Vec<Worker>>,
    /// How often a process that is not confined started or ended: it can change what overlays show.
    changes: AtomicU64,
}

impl WorkerPool {
    /// A pool whose init process is this program, if it calls [`super::run_init_process`].
    pub(crate) fn of_this_program(base: Arc<BaseEnvironment>) -> WorkerPool {
        WorkerPool::of(own_executable(), base)
    }

    /// A pool whose init process is that program. Without one the pool has no workers.
    pub(crate) fn of(executable: Option<PathBuf>, base: Arc<BaseEnvironment>) -> WorkerPool {
        let (available, idle, changes) = Default::default();
        WorkerPool { executable, base, available, idle, changes }
    }

    /// A pool without workers, for the setting `group`.
    pub(crate) fn none(base: Arc<BaseEnvironment>) -> WorkerPool {
        let available = OnceLock::from(Err("the settings select `group`".to_owned()));
        WorkerPool { available, ..WorkerPool::of(None, base) }
    }

    /// In which ways workers can isolate processes, or the reason why there are no workers. The first
    /// call creates a worker to find out, which takes milliseconds.
    pub(crate) fn available(&self) -> Result<Isolation, &str> {
        let available = self.available.get_or_init(|| {
            let executable =
                self.executable.as_ref().ok_or("this program has no init process".to_owned())?;
            let (worker, isolation) = Worker::create_and_wait(executable, self.instance())?;
            self.idle().push(worker);
            Ok(isolation)
        });
        available.as_ref().copied().map_err(String::as_str)
    }

    /// Starts the init process, which the first worker needs.
    pub(crate) fn start_init_process(&self) {
        if let Some(executable) = &self.executable {
            super::init_link::start_init_process(executable, self.instance());
        }
    }

    /// Sends an order to an idle worker. A worker that was killed while idle refuses the order, and
    /// the next one gets it. Creates a worker if none is idle.
    pub(crate) fn start(&self, order: &StartOrder<'_>) -> io::Result<Worker> {
        while let Some(worker) = self.take_idle() {
            match worker.start(order) {
                Ok(()) => return Ok(worker),
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
                Err(error) => return Err(error),
            }
        }
        let executable = self.executable.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        let worker = Worker::create(executable, self.instance())?;
        worker.start(order).map(|()| worker)
    }

    /// Counts the start or the end of a process that is not confined.
    pub(crate) fn count_change(&self, is_free: bool) {
        self.changes.fetch_add(u64::from(is_free), Ordering::AcqRel);
    }

    /// The text that tells plans with overlays apart before and after such a process.
    pub(crate) fn mark(&self) -> OsString {
        let changes = self.changes.load(Ordering::Acquire);
        format!("{}/{changes}", char::from(kind::MARK)).into()
    }

    fn take_idle(&self) -> Option<Worker> {
        self.idle().pop()
    }

    /// Returns a worker whose namespace is empty to the pool.
    pub(crate) fn give_back(&self, worker: Worker) {
        self.idle().push(worker);
    }

    /// Creates a worker in place of a lost one and waits until it is ready, up to
    /// [`REPLACE_TIMEOUT`].
    ///
    /// The init process may have been killed together with the worker, and an init process that is
    /// about to end still accepts requests. Creating a worker here detects that, so that the next
    /// step does not fail.
    pub(crate) async fn replace(self: Arc<Self>) {
        let created = tokio::task::spawn_blocking(move || {
            let executable = self.executable.as_ref()?;
            let create = || Worker::create_and_wait(executable, self.instance());
            let created = create().or_else(|_| create());
            created.ok().map(|(worker, _)| self.give_back(worker))
        });
        let _ = tokio::time::timeout(REPLACE_TIMEOUT, created).await;
    }

    fn instance(&self) -> &'static Instance {
        Instance::of_process(&self.base)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Worker>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
