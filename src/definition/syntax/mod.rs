//! Trees with positions.
