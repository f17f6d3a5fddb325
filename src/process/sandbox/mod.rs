//! How far a process whose code a model may have written is held: by the kernel, with Landlock.
//!
//! A [`Confinement`] says where such a process may read and write. It becomes [`Rules`], a ruleset
//! that a thread or a child takes upon itself and that everything which it starts inherits. What
//! the kernel cannot hold is never started here: [`KernelSandbox::detect`] tells before.

mod capabilities;
mod confinement;
mod kernel;
mod paths;
mod rules;

pub(super) use capabilities::drop_capabilities;
pub use confinement::Confinement;
pub use kernel::{KernelSandbox, level_cap};
pub(super) use rules::{Rules, start_restricted};
