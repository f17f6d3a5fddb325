//! What the runtime itself saw: tool calls, changes of files, verdicts (000 §18.4, DESIGN §5).
//!
//! Pure data and comparisons of it. Nothing here reads a file: `executor` observes, `verify` judges.

mod change;
mod invocation;
mod record;
mod text_diff;
mod verdict;

pub use change::{Change, ChangeKind, FileKind, FileState, Manifest};
pub use invocation::{EvidenceRef, Invocation, InvocationStatus, Purpose, ToolTrace};
pub use record::{Feedback, Payload, Record, RecordedCall, RequestDigests};
pub use verdict::{CheckDetail, Confidence, Verdict, Verification};
