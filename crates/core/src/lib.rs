//! Evidence, verdicts, masking, the state machine of a run and its public forms. Pure.

pub mod evidence;
pub mod redaction;
pub mod run;
pub mod verify;
pub mod wire;
