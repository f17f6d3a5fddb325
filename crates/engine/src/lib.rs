//! The journal, the dispatcher that drives runs, and recorded runs read back.

pub mod engine;
pub mod inspect;
pub mod journal;
