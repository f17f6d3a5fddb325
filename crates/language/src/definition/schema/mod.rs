//! Schemas in definitions: JSON Schema (draft 2020-12) and a short form of it. Start at [`Schema`].
//!
//! Schemas are never fetched: a reference to anything outside the schema is a load error. The time and
//! memory of a validation are bounded (`cost`).

mod checked;
mod cost;
mod decode;
mod property;
mod recognise;
mod short_form;
mod subschemas;
mod violation;

pub use checked::Schema;
pub use property::Property;
pub use violation::Violation;
