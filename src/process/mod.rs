//! The one place where processes are started: groups, limits, output caps, the base environment.
//!
//! [`Supervisor::run`] starts one process and attends to it until nothing of it is left. At the level
//! [`ProcessLevel::PidNamespace`] it runs in a namespace that a process of `kb`'s own keeps (see
//! `keeper/`); where the system does not allow that, `kb` starts it itself, in a process group
//! (`group.rs`, `orphans.rs`, `guardian.rs`). What runs here has no say in any of that.
//!
//! Nothing here forks a large process: copying the page tables of a `kb` that holds a long plan
//! costs more than the whole rest of a short step.

mod base_environment;
mod capture;
mod exited;
mod group;
mod guardian;
mod heap;
mod instance;
mod keeper;
mod leader;
mod level;
mod orphans;
mod pipes;
mod program;
mod remains;
mod running;
mod sandbox;
mod spawn;
mod supervisor;
mod temporary;
mod watched;

pub use base_environment::BaseEnvironment;
pub use capture::Stream;
pub use exited::{End, Exited};
pub use heap::return_large_memory;
pub use keeper::supervise;
pub use level::ProcessLevel;
pub use remains::wait_for_remains_of;
pub use sandbox::{Confinement, KernelSandbox, at_most};
pub use spawn::Spawn;
pub use supervisor::{OnLine, Supervisor};
