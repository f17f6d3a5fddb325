use super::Redactor;
use super::masks::masked;
use std::sync::Arc;

/// Masks a text that comes in pieces: a secret may be split over any number of them. What could be
/// the beginning of one is held back until the next piece decides.
#[derive(Debug)]
pub struct StreamMasker {
    redactor: Arc<Redactor>,
    held: String,
}

impl StreamMasker {
    pub(super) fn new(redactor: Arc<Redactor>) -> Self {
        StreamMasker { redactor, held: String::new() }
    }

    /// Takes the next piece; what can be shown by now.
    pub fn push(&mut self, piece: &str) -> String {
        let Some(masks) = self.redactor.masks() else {
            return std::mem::take(&mut self.held) + piece;
        };
        self.held.push_str(piece);
        // A encoding that begins where another may still go on is not the last word: wait.
        let (found, open) = masks.found_before_open(&self.held);
        let shown = masked(&self.held[..open], &found).into_owned();
        self.held.drain(..open);
        shown
    }

    /// The end of the text, or of this part of it: what was held back, masked.
    pub fn flush(&mut self) -> String {
        let held = std::mem::take(&mut self.held);
        self.redactor.mask_text(&held).into_owned()
    }
}
