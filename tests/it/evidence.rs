//! What is recorded of a run, read back out of real runs of the binary, and whether a change of the
//! record is noticed.

#[path = "evidence/audit.rs"]
mod audit;
#[path = "evidence/edits.rs"]
mod edits;
#[path = "evidence/recorded.rs"]
mod recorded;
#[path = "evidence/sample.rs"]
mod sample;
