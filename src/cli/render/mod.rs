//! How things look: tables, diagnostics, and runs as they go on. Decides nothing.
//!
//! Every display of a run is drawn from the same public events, live or from the journal.

pub(super) mod diagnostics;
mod jsonl;
mod live;
mod phrase;
mod plain;
mod quantity;
mod renderer;
pub(super) mod summary;
pub(super) mod table;
mod tally;

pub(super) use phrase::{check_text, line, status_style};
pub(super) use quantity::{bytes, spent};
pub(super) use renderer::{Display, Renderer, renderer};
pub(super) use tally::Tally;
