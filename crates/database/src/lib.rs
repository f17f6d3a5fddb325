//! Opens the SQLite databases of `kb`: private files with a write-ahead log and a version.
//!
//! A database beside the journal is described by a [`Layout`] and opened by [`open()`]. The journal opens its own,
//! because it decides itself when SQLite syncs; it shares [`private_folder`] and [`private_file`].

mod error;
mod layout;
mod private;

pub use error::DatabaseError;
pub use layout::{Layout, SyncLevel, open, remove};
pub use private::{private_file, private_folder};
