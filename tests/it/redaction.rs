//! redaction.
