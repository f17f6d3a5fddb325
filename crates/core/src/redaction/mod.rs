//! Masking: secrets never enter the journal, an event, a log or a display.
//!
//! A [`Redactor`] knows the secrets of one run and replaces them by `«secret:NAME»`, in the encodings
//! in which programs write them. What it returns is [`Masked`], the only type that the state machine
//! and displays accept texts in. Nothing here restores a masked value. Start at [`Redactor::mask`].

#[cfg(test)]
mod cases;
mod encodings;
mod escapes;
mod excerpts;
mod fields;
mod index;
mod masked;
mod masks;
mod records;
mod redactor;
mod registry;
mod stream;

pub use masked::{Mask, Masked, Parts};
pub use masks::MASK;
pub use redactor::{Redactor, SHORTEST};
pub use registry::Redactors;
pub use stream::StreamMasker;
