//! How many runs the commands read.

/// The newest runs that are read without `--runs`.
pub(super) const RUNS: usize = 500;
