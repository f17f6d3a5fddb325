//! How far a process whose code a model may have written is held: by the kernel, with Landlock.
//!
//! A [`Confinement`] says where such a process may write and read. It becomes [`Rules`], a ruleset
//! that a thread or a child takes upon itself and that everything which it starts inherits. What
//! the kernel cannot hold is never started here: [`kernel_holds`] tells before.

mod confinement;
mod rules;

pub use confinement::Confinement;
pub use rules::kernel_holds;
pub(super) use rules::start_held;
