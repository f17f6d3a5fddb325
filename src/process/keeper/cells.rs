use super::serve::own_executable;
use super::{Cell, StartOrder};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// How long the end of a step that has lost its cell waits for another; as a rule milliseconds.
const REPLACED_IN: Duration = Duration::from_secs(1);

/// The cells of a supervisor: made when they are needed, used again when they are clean.
#[derive(Debug)]
pub(in crate::process) struct Cells {
    executable: Option<PathBuf>,
    reached: OnceLock<Result<(), String>>,
    idle: Mutex<Vec<Cell>>,
}

impl Cells {
    /// Cells of a keeper that is this very program, where it can be one.
    pub(in crate::process) fn of_this_program() -> Cells {
        Cells::of(own_executable())
    }

    /// Cells of a keeper that is that program; never any where none is given.
    pub(in crate::process) fn of(executable: Option<PathBuf>) -> Cells {
        Cells { executable, reached: OnceLock::new(), idle: Mutex::default() }
    }

    /// Never any.
    pub(in crate::process) fn none() -> Cells {
        let reached = OnceLock::from(Err("the settings say `group`".to_owned()));
        Cells { reached, ..Cells::of(None) }
    }

    /// Whether there can be cells here, else why not. Tried out at the first call, by making one.
    pub(in crate::process) fn reached(&self) -> Result<(), &str> {
        let reached = self.reached.get_or_init(|| {
            let executable =
                self.executable.as_ref().ok_or("this program has no keeper".to_owned())?;
            let cell = Cell::begin_and_wait(executable)?;
            self.idle().push(cell);
            Ok(())
        });
        reached.as_ref().copied().map_err(String::as_str)
    }

    /// Hands an order to a cell that nobody uses. One that was killed while idle refuses it, and the
    /// next gets it.
    pub(in crate::process) fn start(&self, order: &StartOrder<'_>) -> io::Result<Cell> {
        while let Some(cell) = self.take_idle() {
            match cell.start(order) {
                Ok(()) => return Ok(cell),
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
                Err(error) => return Err(error),
            }
        }
        let executable = self.executable.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        let cell = Cell::begin(executable)?;
        cell.start(order).map(|()| cell)
    }

    fn take_idle(&self) -> Option<Cell> {
        self.idle().pop()
    }

    /// Takes a clean cell back.
    pub(in crate::process) fn give_back(&self, cell: Cell) {
        self.idle().push(cell);
    }

    /// Makes a cell for one that is gone, and waits until it is there. Whoever ended that one may have
    /// ended the keeper as well, and one that is about to end still takes requests: this one, and not
    /// the order of the next step, is what it may take with it. One that stands still is not waited
    /// for.
    pub(in crate::process) async fn replace(self: Arc<Self>) {
        let made = tokio::task::spawn_blocking(move || {
            let executable = self.executable.as_ref()?;
            let made =
                Cell::begin_and_wait(executable).or_else(|_| Cell::begin_and_wait(executable));
            made.ok().map(|cell| self.give_back(cell))
        });
        let _ = tokio::time::timeout(REPLACED_IN, made).await;
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Cell>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
