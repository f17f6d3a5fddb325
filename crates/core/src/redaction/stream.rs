//! Masks a text that arrives in pieces.

use super::masks::masked;
use super::{Masked, Redactor};
use std::sync::Arc;

/// Masks a text that arrives in pieces. A secret may be split over any number of them, so a possible
/// beginning of a secret is held back until the next piece.
#[derive(Debug)]
pub struct StreamMasker {
    redactor: Arc<Redactor>,
    held: String,
}

impl Redactor {
    /// A masker for a text that arrives in pieces, such as the response of a model.
    pub fn stream(self: &Arc<Self>) -> StreamMasker {
        StreamMasker { redactor: self.clone(), held: String::new() }
    }
}

impl StreamMasker {
    /// Adds a piece. Returns the masked text that can be shown by now.
    pub fn push(&mut self, piece: &str) -> Masked<String> {
        let Some(masks) = self.redactor.masks() else {
            return Masked::new(std::mem::take(&mut self.held) + piece);
        };
        self.held.push_str(piece);
        // Where a match may still become longer, wait for the next piece.
        let (found, open) = masks.found_before_open(&self.held);
        let shown = masked(&self.held[..open], &found).into_owned();
        self.held.drain(..open);
        Masked::new(shown)
    }

    /// Ends the text, or this part of it. Returns the text that was held back, masked.
    pub fn flush(&mut self) -> Masked<String> {
        let held = std::mem::take(&mut self.held);
        self.redactor.mask(held)
    }
}
