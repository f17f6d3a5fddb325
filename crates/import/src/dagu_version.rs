//! The two versions of Dagu that workflows are written for.

/// Which version a workflow is written for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Dagu {
    /// 1.x, where backticks in values are commands.
    One,
    /// 2, where they are texts and steps execute `run`.
    Two,
}
