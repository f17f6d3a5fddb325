//! A plan as people and other programs see it: text, DOT, Mermaid, JSON.
//!
//! Ids are words of a known form; names and conditions are anything, so each form quotes them its own
//! way and none lets a control character through.

mod dot;
mod json;
mod label;
mod mermaid;
mod text;

pub use dot::dot;
pub use json::json;
pub use mermaid::mermaid;
pub use text::text;
