//! executor.
