//! Renders the templates of a step into the request of one attempt or gate.
//!
//! Start at `request` in `request.rs`, which an attempt gets, or at `gate` in `gate.rs`. The work of a kind of
//! step is in `work.rs`, and what attempts and gates share is in `values.rs`.

mod gate;
mod request;
mod values;
mod work;

pub(super) use gate::{GateInputs, gate, preview_of_task};
pub(super) use request::{check_output, request};
pub(super) use values::{attempt_timeout, secrets};
pub(super) use work::AttemptInputs;
