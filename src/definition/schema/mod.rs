//! Schemas: JSON Schema (draft 2020-12) and the documents' short form of it (LANGUAGE §7).
//!
//! Offline by construction: a reference outside of the schema itself is an error at load.

mod checked;
mod property;
mod recognise;
mod short_form;
mod violation;

pub use checked::Schema;
pub use property::Property;
pub use violation::Violation;
