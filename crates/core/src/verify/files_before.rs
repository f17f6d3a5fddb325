//! Changes of files that earlier attempts of a step left, as the runtime records them before the next one.

/// The tool name of the call that records them. Its changes start at the state before the step.
pub const FILES_BEFORE: &str = "files:before";
