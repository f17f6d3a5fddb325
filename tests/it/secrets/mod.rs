//! Secrets through the real binary: where their values come from, and that they are nowhere after.

mod commands;
mod late;
mod lines;
mod panics;
mod scan;
mod server;
mod sinks;
mod values;
