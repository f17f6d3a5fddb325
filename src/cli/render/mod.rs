//! Output formats: tables, diagnostics, event lines, live displays and summaries of runs.
//!
//! Every display of a run uses the same public events, live or from the journal. Start at
//! [`renderer`].

mod assessment;
pub(super) mod broken;
mod choice;
mod counts;
pub(super) mod diagnostics;
pub(super) mod event_clock;
mod event_line;
mod failure;
mod foreign_text;
mod item_groups;
mod jsonl;
pub(super) mod junit;
mod lines;
mod live;
pub(super) mod next;
pub(super) mod plan_revised;
mod quantity;
mod renderer;
mod run_summary;
mod screen;
mod status;
mod step_output;
pub(super) mod summary;
pub(super) mod table;
pub(super) mod wrap;

pub(super) use assessment::is_judged;
pub(super) use choice::renderer;
pub(super) use counts::RunCounts;
pub(super) use event_line::{brief_args, check_text, evidence_text, line};
pub(super) use foreign_text::{foreign_text, message_text};
pub(super) use quantity::{bytes, run_time, spent, time, time_range, unproven};
pub(super) use renderer::{Display, Renderer};
pub(super) use run_summary::RunSummary;
pub(super) use status::Status;
pub(super) use step_output::OutputMode;
