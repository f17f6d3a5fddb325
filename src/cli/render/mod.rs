//! How things look: tables, diagnostics, and runs as they go on. Decides nothing.
//!
//! Every display of a run is drawn from the same public events, live or from the journal.

pub(super) mod broken;
pub(super) mod diagnostics;
mod event_line;
mod jsonl;
mod lines;
mod live;
mod quantity;
mod renderer;
mod run_summary;
pub(super) mod summary;
pub(super) mod table;

pub(super) use event_line::{check_text, line, status_style};
pub(super) use quantity::{bytes, spent};
pub(super) use renderer::{Display, Renderer, renderer};
pub(super) use run_summary::RunSummary;
