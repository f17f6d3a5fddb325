//! The use cases: what people can ask for, without a word about how it looks.
//!
//! Owns the order of things (load, check, plan, start, look back) and the one error type that the
//! command line and later servers map to messages and exit codes. Must never print, exit the process
//! or read a terminal.

mod error;
mod pages;
pub mod params;
pub mod runs;
mod schemas;

pub use crate::journal::JournalError;
pub use error::{Kind, ServiceError};
pub use pages::{CodePage, all_codes, explain};
pub use params::Problem;
pub use schemas::{SCHEMA_NAMES, schema};
