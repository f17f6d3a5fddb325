//! run commands.
