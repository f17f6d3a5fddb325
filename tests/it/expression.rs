//! expression.
