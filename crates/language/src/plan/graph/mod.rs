//! Drawings of a plan: text, DOT, Mermaid and JSON, one file each.
//!
//! Names and conditions can contain any character, so each format quotes them in its own way, and none
//! lets a control character through.

mod dot;
mod json;
mod label;
mod mermaid;
mod text;

pub use dot::dot;
pub use json::json;
pub use mermaid::mermaid;
pub use text::text;
