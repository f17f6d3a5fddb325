//! What is remembered across runs: entries, the rules that admit them, and their store.
//!
//! An entry is one sentence with its origin, files that it rests on (anchors) and checks. The rules are pure: what may
//! enter ([`Draft::admit`]), which texts say the same ([`same_text_key`]), and what a specialist is shown
//! ([`Recall::of`]). [`MemoryStore`] is the database in the state folder of a project. People share an entry as a file
//! `.kb/memory/ID.md` ([`SharedFile`]), which the store indexes by its digest. No model is called here, and no text is
//! stored that was not masked. See `docs/memory.md`.

mod draft;
mod entry;
mod error;
mod faq;
mod folder;
mod name;
mod recall;
mod same_text;
mod shared_file;
mod store;

pub use draft::{Draft, Proposal};
pub use entry::{Anchor, Entry, Kind, Scope, State, Trust};
pub use error::MemoryError;
pub use faq::{FAQ, FaqCategory, FaqEntry, FaqRequest, FaqStats, LEAST_HELPFUL};
pub use folder::read_folder;
pub use recall::Recall;
pub use same_text::same_text_key;
pub use shared_file::{FileError, SharedFile};
pub use store::{
    Admitted, CheckOutcome, Event, Feedback, Forgotten, Hit, Limits, MemoryStore, Query, Reader,
    Stats, Synced,
};
