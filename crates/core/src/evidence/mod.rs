//! Evidence: what the runtime recorded about an attempt. Tool calls, file changes and verdicts.
//!
//! Pure data and comparisons of it; nothing here reads a file. `workspace` and `executor` record,
//! `verify` evaluates. Start reading at [`Invocation`] and [`Verification`].

mod approval;
mod cache_hit;
mod change;
mod exchange;
mod handoff;
mod invocation;
mod judgement;
mod merged;
mod net_changes;
mod phase;
mod process_evidence;
mod record;
mod session;
mod test_counts;
mod verdict;
mod verdict_counts;

pub use approval::{AnswerForm, ApprovalRequest, CallRef, TIMEOUT};
pub use cache_hit::CacheHit;
pub use change::{Change, ChangeKind, FileKind, FileState, Manifest, is_code};
pub use exchange::{Exchange, Heard, Message};
pub use handoff::{
    ARTIFACTS, Artifact, ArtifactKind, BLOCKER_TOKENS, BLOCKERS, DECISION_TOKENS, DECISIONS,
    GOAL_TOKENS, HANDOFF, Handoff, PREVIEW_CHARS, SUMMARY_TOKENS,
};
pub use invocation::{
    AGENT_PROCESS, EvidenceKind, EvidenceRef, FILES_BEFORE, Invocation, InvocationStatus, Purpose,
    REPORTED, RUN_CHECK, STEP_PROCESS, ToolTrace, WITH_TOOLS_OF_KB,
};
pub use judgement::{FOLLOW_UP, Judgement, SUBMIT_VERIFICATION, VERIFICATION_WARNING};
pub use merged::{Merged, MergedTree};
pub use net_changes::NetChanges;
pub use phase::Phase;
pub use process_evidence::{AttemptStreams, ProcessEndKind, ProcessEvidence};
pub use record::{
    Approach, CallRequest, Feedback, Note, OutputPart, Payload, Prompt, PromptPart, Record,
    RequestDigests,
};
pub use session::{
    ArtifactRef, FACTS, GAPS, HISTORY_TOKENS, SessionBrief, SessionLine, SessionState,
};
pub use test_counts::TestCounts;
pub use verdict::{CHANGES, CheckDetail, Confidence, Verdict, Verification, WORK_NOT_DONE};
pub use verdict_counts::VerdictCounts;
