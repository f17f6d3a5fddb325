//! `kb learn`: what recorded runs say about specialists, and what a person can make of it.
//!
//! Everything is computed from the journals when it is asked for. Files in `.kb/learning` are for people to review; only
//! `apply` changes anything, and only what it names. Start at [`learned`] and [`apply_suggestion`].

mod apply;
mod facts;
mod files;

pub use apply::{Applied, apply_suggestion};
pub use facts::{Learned, Suggestion, learned};
pub use files::{ROUTES, write_suggestions};
