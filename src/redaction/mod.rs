//! The one masking sink: values of secrets never reach a state, an event or a display.
//!
//! A [`Redactor`] knows the values that were resolved so far and replaces them, in the encodings in
//! which programs pass them on, by `«secret:NAME»`. Everything that is stored or shown goes through
//! it; nothing here can bring a value back.

#[cfg(test)]
mod cases;
mod encodings;
mod escapes;
mod guard;
mod index;
mod masks;
mod redactor;
mod stream;

pub use guard::{mask_for_process, stand_guard};
pub use masks::MASK;
pub use redactor::{Redactor, SHORTEST};
pub use stream::StreamMasker;
