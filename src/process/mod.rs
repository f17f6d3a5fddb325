//! The one place where processes are started: groups, limits, output caps, the base environment.
//!
//! [`Supervisor::run`] starts one process and attends to it until nothing of it is left. Each step
//! has a process group of its own, whatever leaves that group (`setsid`, double forks) comes back
//! to `kb` as an orphan because `kb` is a subreaper, and a guardian process ends everything should
//! `kb` itself be killed. What runs here has no say in any of that.
//!
//! Processes are started by `posix_spawn` and never by a plain fork: copying the page tables of a
//! `kb` that holds a large plan costs more than the whole rest of a short step. So nothing of ours
//! runs between fork and exec, and `PR_SET_PDEATHSIG`, which would have to, is the guardian's part.

mod base_environment;
mod capture;
mod exited;
mod guardian;
mod orphans;
mod program;
mod running;
mod sandbox;
mod spawn;
mod supervisor;

pub use base_environment::BaseEnvironment;
pub use capture::Stream;
pub use exited::{End, Exited};
pub use sandbox::{Confinement, KernelSandbox, at_most};
pub use spawn::Spawn;
pub use supervisor::{OnLine, ProcessLevel, Supervisor};
