//! Limits of delegated tasks.

/// How far specialists can delegate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelegationLimits {
    /// Levels of runs below the first one; 0: nothing is delegated.
    pub depth: u32,
    /// Tasks that one attempt delegates.
    pub fanout: u32,
}
