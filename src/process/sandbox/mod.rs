//! How far a process whose code a model may have written is held: by the kernel, with Landlock.
//!
//! A [`Confinement`] says where such a process may read and write. It becomes [`Rules`], a ruleset
//! that a thread or a child takes upon itself and that everything which it starts inherits. What
//! the kernel cannot hold is never started here: [`KernelSandbox::reached`] tells before.

mod confinement;
mod kernel;
mod places;
mod powers;
mod rules;

pub use confinement::Confinement;
pub use kernel::{KernelSandbox, at_most};
pub(super) use powers::give_up_powers;
pub(super) use rules::{Rules, start_held};
