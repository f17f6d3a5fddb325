//! The one place where processes are started: groups, limits, output caps, the base environment.
//!
//! [`Supervisor::run`] starts one process and attends to it until nothing of it is left. At the level
//! [`ProcessLevel::PidNamespace`] it runs in a namespace that a process of `kb`'s own keeps (see
//! `namespace/`); where the system does not allow that, `kb` starts it itself, in a process group
//! (`group.rs`, `orphans.rs`, `watchdog.rs`). What runs here has no say in any of that.
//!
//! Nothing here forks a large process: copying the page tables of a `kb` that holds a long plan
//! costs more than the whole rest of a short step.

mod base_environment;
mod capture;
mod group;
mod heap;
mod instance;
mod level;
mod main_process;
mod namespace;
mod orphan_cleanup;
mod orphans;
mod pipes;
mod program;
mod result;
mod running;
mod sandbox;
mod spawn;
mod supervisor;
mod temporary;
mod watchdog;
mod watched;

pub use base_environment::BaseEnvironment;
pub use capture::Stream;
pub use heap::return_large_memory;
pub use level::ProcessLevel;
pub use namespace::run_init_process;
pub use orphan_cleanup::wait_for_orphans_of;
pub use result::{ProcessEnd, ProcessResult};
pub use sandbox::{Confinement, KernelSandbox, level_cap};
pub use spawn::Spawn;
pub use supervisor::{OnLine, Supervisor};
