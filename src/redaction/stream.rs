use super::Redactor;
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
        let mut shown = String::new();
        let mut rest = self.held.as_str();
        let mut open = masks.open_from(rest);
        // A spelling that begins where another may still go on is not the last word: wait.
        while let Some((start, end, mask)) = masks.first(rest).filter(|found| found.0 < open) {
            shown.push_str(&rest[..start]);
            shown.push_str(&mask);
            rest = &rest[end..];
            open = masks.open_from(rest);
        }
        shown.push_str(&rest[..open]);
        self.held = rest[open..].to_owned();
        shown
    }

    /// The end of the text: what was held back, masked.
    pub fn finish(self) -> String {
        self.redactor.mask_text(&self.held).into_owned()
    }
}
