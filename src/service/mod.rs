//! The use cases: what people can ask for, without a word about how it looks.
//!
//! Owns the order of things (load, check, plan, start, look back) and the one error type that the
//! command line and later servers map to messages and exit codes. Must never print, exit the process
//! or read a terminal. Enter at [`here`], which gives the [`Project`] that almost everything takes.

mod audit;
mod changes;
mod cuts;
mod demo;
mod doctor;
mod error;
mod importing;
mod inspect;
mod matching;
mod pages;
pub mod params;
mod plan_view;
mod playbooks;
mod project;
mod prompts;
pub mod runs;
mod scaffold;
mod schemas;
mod specialists;
mod starting;
mod validation;
mod watching;

pub use crate::attempt::Progress;
pub use crate::engine::{EventReceiver, RunControl, Summary, Update, event_channel};
pub use crate::journal::JournalError;
/// Masks a text that no run is known for: a line of the log, the words of a panic.
pub use crate::redaction::mask_for_process;
pub use crate::run::RunStatus;
pub use audit::{Audit, Fault, audit_run};
pub use changes::{FileDiff, FileDiffKind, FileSnapshot, Patch, RunDiff, StepDiff, run_diff};
pub use demo::{Demo, create_demo};
pub use doctor::{Finding, FindingLevel, doctor};
pub use error::{ResourceKind, ServiceError};
pub use importing::{Imported, import};
pub use inspect::{LogEntry, Reader, list_runs, run_output, show_run};
pub use matching::{Match, match_phrase};
pub use pages::{CodePage, all_codes, explain};
pub use plan_view::{CostRange, Edge, PlanView, PlannedStep, Prompt, plan_view};
pub use playbooks::{DefinitionSheet, GraphFormat, StepLine, graph, list_playbooks, show_playbook};
pub use project::{BrokenFile, Project, context_here, here, here_or_bare};
pub use scaffold::{Initialized, TEMPLATES, init, new_playbook, new_specialist};
pub use schemas::{SCHEMA_NAMES, schema};
pub use specialists::{SpecialistSheet, list_specialists, show_specialist};
pub use starting::{Ask, Start, start};
pub use validation::{Report, validate_playbooks, validate_specialists};
pub use watching::{LiveUpdate, Watcher};
