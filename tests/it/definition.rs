//! definition.
