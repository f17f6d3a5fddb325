//! shipped.
