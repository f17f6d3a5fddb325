//! Values, sources and diagnostics: what every other crate of `kb` speaks in.

pub mod diagnostic;
pub mod value;
