//! The only module that starts processes: process groups and namespaces, time limits, captured
//! output, the base environment and the sandbox.
//!
//! [`Supervisor::run`] starts one process and supervises it until no descendant is left. At the level
//! [`ProcessLevel::PidNamespace`] the process runs in a PID namespace of the init process (see
//! `namespace/`). Where the system does not allow that, `kb` starts it itself in a process group
//! (`group.rs`, `orphans.rs`, `watchdog.rs`). The supervised process cannot influence any of this.
//!
//! Nothing here forks a large process: copying the page tables of a `kb` with a large plan costs more
//! than the rest of a short step.

mod base_environment;
mod capture;
mod detached;
mod editor;
mod failed_command;
mod group;
mod inherited_files;
mod instance;
mod level;
mod main_process;
#[cfg_attr(not(target_os = "linux"), path = "no_namespace.rs")]
mod namespace;
mod orphan_cleanup;
mod orphans;
mod own_program;
mod pipes;
mod program;
mod result;
mod running;
mod sandbox;
mod session;
mod session_output;
mod spawn;
mod start_order;
mod supervisor;
mod temporary;
mod this_program;
mod watchdog;
mod watched;

pub use base_environment::BaseEnvironment;
pub use capture::{OnBytes, OnLine, OutputListener, Stream};
pub use detached::{Detached, open_page};
pub use editor::edit;
pub use failed_command::FailedCommand;
pub use inherited_files::keep_inherited_files;
pub use level::ProcessLevel;
pub use namespace::run_init_process;
pub use orphan_cleanup::wait_for_orphans_of;
pub use program::{interpreter_of, program_of};
pub use result::{ProcessEnd, ProcessResult, Unreached};
pub use sandbox::{Confinement, KernelSandbox, Network, Reach, SandboxCap};
pub use session::{Session, SessionError};
pub use spawn::Spawn;
pub use supervisor::Supervisor;
pub use this_program::this_program;
