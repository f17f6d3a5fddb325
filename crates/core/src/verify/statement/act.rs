//! What statements say that a step did.

/// What a statement says that the step did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::verify) enum Act {
    /// A named file was not changed.
    Kept,
    /// Nothing else was changed.
    Only,
    /// Something in git: a commit, a branch, a clean working tree.
    Committed,
    /// An effect outside the project.
    Outside,
    Renamed,
    Deleted,
    Failed,
    /// A check, build or run of tests succeeded.
    Passed,
    Ran,
    Created,
    Changed,
    /// A file has this digest.
    Digest,
    /// A file has something in it.
    Contains,
    Read,
}
