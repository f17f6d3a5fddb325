//! What a coding agent did out of sight: its files are compared, its commands and calls are not recorded.

use super::finding::Finding;
use crate::evidence::Invocation;

/// The finding over something that no recorded call did. It refutes nothing if a coding agent worked with tools of its own,
/// which may have done it.
pub(super) fn unrecorded(reason: String, trace: &[Invocation]) -> Finding {
    if trace.iter().any(Invocation::works_unseen) {
        return Finding::inconclusive(format!(
            "{reason}; what the coding agent itself ran is only reported, so let a `command` check run it"
        ));
    }
    Finding::failed(reason)
}
