//! architecture.
