//! The kernel sandbox for processes that run code of a model: Landlock.
//!
//! A [`Confinement`] lists the paths that a process may read and write. It becomes [`Rules`], a
//! ruleset that a thread or child applies to itself and that its descendants inherit. A process is
//! not started if the kernel cannot enforce the rules; [`KernelSandbox::detect`] tells in advance.

mod capabilities;
mod confinement;
mod kernel;
mod paths;
mod rules;

pub(super) use capabilities::drop_capabilities;
pub use confinement::Confinement;
pub use kernel::{KernelSandbox, SandboxCap};
pub(super) use rules::{Rules, start_restricted};
