//! Output formats: tables, diagnostics, event lines, live displays and summaries of runs.
//!
//! Every display of a run uses the same public events, live or from the journal. Start at
//! [`renderer`].

pub(super) mod broken;
pub(super) mod diagnostics;
mod event_line;
mod jsonl;
mod lines;
mod live;
mod quantity;
mod renderer;
mod run_summary;
mod status;
pub(super) mod summary;
pub(super) mod table;

pub(super) use event_line::{check_text, line};
pub(super) use quantity::{bytes, spent};
pub(super) use renderer::{Display, Renderer, renderer};
pub(super) use run_summary::RunSummary;
pub(super) use status::Status;
