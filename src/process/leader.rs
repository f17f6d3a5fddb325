use super::End;
use super::group::GroupLeader;
use super::keeper::{Cell, Cells, Fate};
use super::program::explain;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// A step's main process, wherever it runs. Dropping it ends it and everything that it started.
pub(super) enum Leader {
    Group(GroupLeader),
    Cell(CellLeader),
}

impl Leader {
    /// Waits for its end; dropping the future loses nothing.
    pub(super) async fn ended(&mut self) -> End {
        match self {
            Leader::Group(leader) => leader.ended().await,
            Leader::Cell(leader) => leader.ended().await,
        }
    }

    /// Asks it to end.
    pub(super) fn terminate(&self) {
        match self {
            Leader::Group(leader) => leader.terminate(),
            Leader::Cell(leader) => leader.cell.terminate(),
        }
    }

    /// Ends it.
    pub(super) fn kill(&self) {
        match self {
            Leader::Group(leader) => leader.kill(),
            Leader::Cell(leader) => leader.cell.end(),
        }
    }

    /// Ends it by other means, where its end does not come; false where there are none.
    pub(super) fn force(&self) -> bool {
        match self {
            Leader::Group(_) => false,
            Leader::Cell(leader) => {
                leader.cell.kill();
                true
            }
        }
    }

    /// Ends what it has left, and waits until that is gone.
    pub(super) async fn clear(self) {
        match self {
            Leader::Group(mut leader) => leader.clear().await,
            Leader::Cell(leader) => leader.clear().await,
        }
    }
}

/// A step's main process in a cell.
pub(super) struct CellLeader {
    cell: Cell,
    cells: Arc<Cells>,
    left: Left,
    /// What a failed start is told with.
    name: String,
    cwd: PathBuf,
}

/// What is in the cell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    /// Not known: the main process has not ended.
    Unknown,
    Nothing,
    Something,
    /// The cell itself is gone.
    NoCell,
}

impl CellLeader {
    pub(super) fn new(cell: Cell, cells: Arc<Cells>, name: &str, cwd: PathBuf) -> CellLeader {
        CellLeader { cell, cells, left: Left::Unknown, name: name.to_owned(), cwd }
    }

    async fn ended(&mut self) -> End {
        let (left, end) = match self.cell.ended().await {
            Fate::Ended { code, by_signal, left } => {
                let left = if left { Left::Something } else { Left::Nothing };
                (left, if by_signal { End::Signal(code) } else { End::Code(code) })
            }
            Fate::NotStarted(errno) => {
                let error = io::Error::from_raw_os_error(errno);
                (Left::Nothing, End::NotStarted(explain(&self.name, &self.cwd, &error)))
            }
            Fate::Refused(reason) => (Left::NoCell, End::NotStarted(reason)),
            Fate::Gone => (Left::NoCell, End::Lost),
        };
        self.left = left;
        end
    }

    async fn clear(mut self) {
        let clean = match self.left {
            Left::Nothing => true,
            Left::Something => self.cell.clear().await,
            Left::NoCell => false,
            // A process that cannot even be killed: the cell is left to the keeper.
            Left::Unknown => return self.cell.kill(),
        };
        match clean {
            true => self.cells.give_back(self.cell),
            false => self.cells.replace().await,
        }
    }
}
