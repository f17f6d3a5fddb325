//! The state machine: decisions for single inputs.
