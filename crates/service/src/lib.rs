//! The use cases of `kb`, and the project and triggers that they work on.

pub mod project;
pub mod service;
pub mod trigger;
