//! Tasks that go on where they are woken: what a thread hears is followed up by that very thread.
//!
//! Where the end of a process is told to one thread, seen to by a second and stored by a third, each
//! hand-over finds that thread on some other processor, which is busy, and leaves this one idle. A
//! thread of one's own calls [`follow_up`] for what it hears; the tasks that this wakes run there and
//! then. All other wakes go to the runtime. This room knows nothing of what its tasks do.

mod follow_up;
mod spawned;

pub use follow_up::follow_up;
pub use spawned::{Task, drive, spawn};
