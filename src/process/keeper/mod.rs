//! A process of `kb`'s own that keeps the steps, so that the kernel ends what a step leaves.
//!
//! `kb` starts itself again as the *keeper*. The keeper makes *cells*: each is a PID namespace with
//! a `/proc` of its own, whose PID 1 is a fork of the keeper that starts one process at a time. When
//! the step's main process has ended, PID 1 asks the kernel whether it has children left. An orphan
//! can have no other parent, so «none» is exact, costs one call, and no step can hide from it. What
//! is left is killed by one `kill(-1)`, which a fork bomb cannot outrun and which reaches nothing
//! outside of the cell. A clean cell serves the next step.
//!
//! Ends: `kb` holds a socket to the keeper and one to each cell. When `kb` is killed they all close;
//! each PID 1 ends, and with it, by the kernel, everything in its namespace. The keeper waits for
//! that and removes the temporary directory. When the keeper is killed, its death signal ends each
//! PID 1. When a PID 1 is killed, `kb` sees its socket close, waits until the kernel has ended the
//! rest, and says that the step was lost. The processes here have no terminal, so that Ctrl-C is
//! `kb`'s alone, and a step can neither see nor signal them: PID 1 is beyond the reach of its
//! namespace, the keeper outside of it.
//!
//! [`serve`], [`init`] and what they use run in the keeper and its cells: single-threaded, without
//! runtime, settings or journal. [`Cells`], [`Cell`], [`Link`](link) and [`listener`] run in `kb`.

mod cell;
mod cells;
mod clone;
mod init;
mod launch;
mod link;
mod listener;
mod message;
mod namespace;
mod serve;
mod signals;
mod socket;

pub(super) use cell::{Cell, Fate};
pub(super) use cells::Cells;
pub(super) use message::StartOrder;
pub use serve::supervise;
