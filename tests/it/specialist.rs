//! specialist.
