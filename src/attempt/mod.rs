//! What one attempt is given and what it gives back: requests, work, outcomes, and where records go.
//!
//! Types alone, shared by those who do the work (`executor`, `specialist`) and by whoever asks for
//! it (`engine`). Nothing here does anything; `executor` has the trait and re-exports all of this.

mod context;
mod outcome;
mod recorder;
mod request;
mod work;

pub use context::Context;
pub use outcome::Outcome;
pub use recorder::{Progress, Recorder, Stopped, invocations};
pub use request::Request;
pub use work::{Argument, CommandLine, HttpWork, SpecialistWork, StepWork};
