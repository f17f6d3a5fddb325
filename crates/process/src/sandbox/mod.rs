//! The kernel sandbox for processes that run code of a model: Landlock, namespaces and a filter for
//! system calls.
//!
//! A [`Confinement`] lists the paths that a process may read and write. It becomes [`Rules`], a
//! ruleset that a thread or child applies to itself and that its descendants inherit, and a mount
//! plan (`mount_plan.rs`) for systems with namespaces. [`SystemCallFilter`] refuses system calls
//! that no path rule restricts. A process is not started if the kernel cannot enforce the rules;
//! [`KernelSandbox::detect`] tells in advance.

#[cfg(not(target_os = "linux"))]
mod absent;
pub(super) mod caches;
#[cfg(target_os = "linux")]
mod capabilities;
mod confinement;
#[cfg(target_os = "linux")]
mod denied_calls;
mod isolation;
mod kernel;
mod mount_plan;
mod paths;
mod reach;
mod real_paths;
#[cfg(target_os = "linux")]
mod rules;
mod rules_cache;
#[cfg(target_os = "linux")]
mod seccomp;

#[cfg(not(target_os = "linux"))]
use absent as rules;
#[cfg(not(target_os = "linux"))]
pub(super) use absent::{SystemCallFilter, is_administrator};
#[cfg(target_os = "linux")]
pub(super) use capabilities::{drop_capabilities, is_administrator};
pub use confinement::Confinement;
pub(super) use confinement::Scratch;
pub(super) use isolation::Isolation;
pub use isolation::Network;
pub use kernel::{KernelSandbox, SandboxCap};
#[cfg(target_os = "linux")]
pub(super) use mount_plan::kind;
pub use reach::Reach;
pub(super) use real_paths::RealPaths;
#[cfg(target_os = "linux")]
pub(super) use rules::{FILE_ACCESS, READ_ACCESS, WRITE_ACCESS};
pub(super) use rules::{Rules, start_restricted};
pub(super) use rules_cache::RulesCache;
#[cfg(target_os = "linux")]
pub(super) use seccomp::SystemCallFilter;
