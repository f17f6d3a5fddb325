//! The kernel sandbox for processes that run code of a model: Landlock, namespaces and a filter for
//! system calls.
//!
//! A [`Confinement`] lists the paths that a process may read and write. It becomes [`Rules`], a
//! ruleset that a thread or child applies to itself and that its descendants inherit, and a mount
//! plan (`mount_plan.rs`) for systems with namespaces. [`SystemCallFilter`] refuses system calls
//! that no path rule restricts. A process is not started if the kernel cannot enforce the rules;
//! [`KernelSandbox::detect`] tells in advance.

mod capabilities;
mod confinement;
mod isolation;
mod kernel;
mod mount_plan;
mod paths;
mod rules;
mod rules_cache;
mod seccomp;

pub(super) use capabilities::drop_capabilities;
pub use confinement::Confinement;
pub(super) use confinement::Scratch;
pub(super) use isolation::Isolation;
pub use isolation::Network;
pub use kernel::{KernelSandbox, SandboxCap};
pub(super) use mount_plan::kind;
pub(super) use rules::{READ_ACCESS, Rules, WRITE_ACCESS, start_restricted};
pub(super) use rules_cache::RulesCache;
pub(super) use seccomp::SystemCallFilter;
