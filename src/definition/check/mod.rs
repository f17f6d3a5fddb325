//! One rule a file.
