//! Executes attempts and observes the workspace for gates: one request in, one [`Outcome`] out.
//!
//! An executor does not access the journal. It passes records to [`Recorder::record`], which returns
//! once they are stored, and live output to [`Recorder::progress`], which is never stored. The types of
//! requests and outcomes are in [`kb_attempt`].
//!
//! Start at [`LocalExecutor`]. Each step kind has one module: `run`, `tool`, `http`, `specialist`,
//! `child`; `gate` evaluates the checks of a gate.

mod cached;
mod child;
mod delegation;
mod gate;
mod heard_recorder;
mod host_access;
mod http;
mod items;
mod last_line;
mod lease;
mod left_changes;
mod local;
mod output_log;
mod run;
mod settings_command;
mod specialist;
mod specialist_input;
mod stubs;
mod tool;

pub use cached::{CacheOptions, StepCache};
pub use child::ChildRuns;
pub use gate::{Judges, run_gate};
pub use host_access::HostAccess;
pub use local::LocalExecutor;
pub use settings_command::SettingsCommands;
pub use stubs::Stubs;

pub use kb_attempt::{
    Argument, CommandLine, Context, Executor, GateRequest, JudgeSubject, Outcome, Progress,
    Recorder, Request, SpecialistWork, StepWork, Stopped, TreeRequest,
};
